import { createHash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'mem_';
const FORMAT = /^mem_([0-9A-Za-z]{32})([0-9A-Za-z]{6})$/;

/** A new API key: `mem_`, 32 random base62 characters (190 bits), 6 of checksum. */
export function generateApiKey(): string {
  const secret = Array.from({ length: 32 }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
  return PREFIX + secret + checksum(secret);
}

/** Whether the text has a key's form and its checksum fits, so that a typo needs no look-up. */
export function isApiKey(text: string): boolean {
  const match = FORMAT.exec(text);
  return match !== null && checksum(match[1]!) === match[2];
}

/** SHA-256 of a key in hex: the only form in which it is kept. */
export function hashApiKey(key: string): string {
  return createHash('sha256').update(key).digest('hex');
}

/** What may be shown of a key to tell it from others: its first eight characters. */
export function hintOf(key: string): string {
  return key.slice(0, PREFIX.length + 4);
}

/** CRC-32 of the prefix and the secret in base62, six characters. */
function checksum(secret: string): string {
  let value = crc32(PREFIX + secret);
  let digits = '';
  for (let position = 0; position < 6; position++) {
    digits = ALPHABET[value % 62]! + digits;
    value = Math.floor(value / 62);
  }
  return digits;
}
