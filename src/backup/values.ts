import neo4j from 'neo4j-driver';

/** A property as it stands in a backup. What JSON has no form of its own for is an object with one key that names its kind. */
export type Stored = string | boolean | number | readonly Stored[] | { readonly [kind: string]: unknown };

/** Temporal and spatial values by their constructors' arguments, in order. */
const COMPOSITES = {
  Date: ['year', 'month', 'day'],
  Time: ['hour', 'minute', 'second', 'nanosecond', 'timeZoneOffsetSeconds'],
  LocalTime: ['hour', 'minute', 'second', 'nanosecond'],
  DateTime: ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanosecond', 'timeZoneOffsetSeconds', 'timeZoneId'],
  LocalDateTime: ['year', 'month', 'day', 'hour', 'minute', 'second', 'nanosecond'],
  Duration: ['months', 'days', 'seconds', 'nanoseconds'],
  Point: ['srid', 'x', 'y', 'z'],
} as const;

type Composite = keyof typeof COMPOSITES;

/** From a value as the driver reads it with `useBigInt`, where a bigint is an integer and a number a float. */
export function toStored(value: unknown): Stored {
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : { integer: String(value) };
  if (typeof value === 'number') return isPlainFloat(value) ? value : { float: Object.is(value, -0) ? '-0' : String(value) };
  if (value instanceof Int8Array) return { bytes: toBase64(value) };
  if (neo4j.isVector(value)) return toStored(value.asTypedArray());
  if (value instanceof Float32Array || value instanceof Float64Array) return floats(value);
  if (Array.isArray(value)) return value.length > 0 && value.every((entry) => typeof entry === 'number') ? floats(value) : value.map(toStored);
  const kind = (Object.keys(COMPOSITES) as Composite[]).find((name) => value instanceof neo4j.types[name]);
  if (!kind) throw new Error(`A property of the type ${(value as object | null)?.constructor.name ?? typeof value} can't be backed up`);
  const parts = value as Record<string, unknown>;
  return { [kind]: COMPOSITES[kind].map((part) => (parts[part] == null ? null : toStored(parts[part]))) };
}

/** To a value as the driver writes it; a Float32Array is what Neo4j keeps as a vector. */
export function fromStored(stored: Stored): unknown {
  if (typeof stored === 'number') return Number.isInteger(stored) ? BigInt(stored) : stored;
  if (typeof stored !== 'object') return stored;
  if (Array.isArray(stored)) return stored.map(fromStored);
  const [[kind, content] = ['nothing']] = Object.entries(stored);
  switch (kind) {
    case 'integer':
      return BigInt(content as string);
    case 'float':
      return Number(content);
    case 'bytes':
      return new Int8Array(fromBase64(content as string));
    case 'float32':
      return new Float32Array(fromBase64(content as string));
    case 'float64':
      return [...new Float64Array(fromBase64(content as string))];
  }
  if (!(kind in COMPOSITES)) throw new Error(`The backup has a property of an unknown kind, ${kind}`);
  const parts = (content as (Stored | null)[]).map((part) => (part === null ? undefined : fromStored(part)));
  return Reflect.construct(neo4j.types[kind as Composite], parts);
}

/** Whether JSON gives it back as what it was: a whole number would come back as an integer. */
function isPlainFloat(value: number): boolean {
  return Number.isFinite(value) && !Number.isInteger(value);
}

/** Half the size where nothing is lost by it, which also tells a vector's four bytes a number from a list of eight. */
function floats(list: readonly number[] | Float32Array | Float64Array): Stored {
  if (list instanceof Float32Array) return { float32: toBase64(list) };
  const single = new Float32Array(list);
  for (let index = 0; index < single.length; index++)
    if (!Number.isFinite(single[index]) || !Object.is(single[index], list[index])) return { float64: toBase64(new Float64Array(list)) };
  return { float32: toBase64(single) };
}

function toBase64({ buffer, byteOffset, byteLength }: NodeJS.TypedArray): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString('base64');
}

/** Bytes of their own, because a Buffer may begin at an address where no float can. */
function fromBase64(text: string): ArrayBuffer {
  return new Uint8Array(Buffer.from(text, 'base64')).buffer;
}
