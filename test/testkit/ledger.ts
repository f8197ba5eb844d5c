/** What a memory says, or null when there is none. */
export type Content = string | null;

/** A memory that a client writes to, one write after the other; its texts begin with its marker, a word that no other memory has. */
export interface Entry {
  readonly marker: string;
  /** As soon as a store was acknowledged. */
  id: string | null;
  /** By the last acknowledged write. */
  acknowledged: Content;
  /** What writes since then would have made of it that were not answered. */
  readonly unanswered: Set<Content>;
}

/** What clients were told of their writes. */
export interface Ledger {
  readonly entries: ReadonlyMap<string, Entry>;
  /** How many stores were acknowledged. */
  readonly stores: number;
  newEntry(): Entry;
  /** Notes a write that is about to be sent. */
  begin(entry: Entry, content: Content): void;
  /** Notes that it was answered with success. */
  acknowledge(entry: Entry, content: Content, id: string): void;
  /** Notes that it was refused, so that nothing can have come of it. */
  refuse(entry: Entry, content: Content): void;
}

/** `record` gets every acknowledged write before it counts as one. */
export function createLedger(prefix: string, record: (line: { marker: string; id: string; content: Content }) => void = () => undefined): Ledger {
  const entries = new Map<string, Entry>();
  let stores = 0;
  return {
    entries,
    get stores() {
      return stores;
    },
    newEntry() {
      // With a digit at its end, so that the full-text index keeps it as it is.
      const entry: Entry = { marker: `${prefix}x${entries.size}`, id: null, acknowledged: null, unanswered: new Set() };
      entries.set(entry.marker, entry);
      return entry;
    },
    begin: (entry, content) => void entry.unanswered.add(content),
    acknowledge(entry, content, id) {
      record({ marker: entry.marker, id, content });
      if (entry.id === null) stores++;
      entry.id = id;
      entry.acknowledged = content;
      entry.unanswered.clear();
    },
    refuse: (entry, content) => void entry.unanswered.delete(content),
  };
}

/** Whether a memory may say that, or may be gone. */
export function isPossible({ acknowledged, unanswered }: Entry, content: Content): boolean {
  return content === acknowledged || unanswered.has(content);
}

export const markerOf = (content: string) => content.split(' ', 1)[0]!;

/** What the memories that there are have against what clients were told, a line each. */
export function disagreements({ entries }: Ledger, memories: readonly { id: string; content: string }[]): string[] {
  const found = new Map<string, { id: string; content: string }[]>();
  for (const memory of memories) {
    const marker = markerOf(memory.content);
    found.set(marker, [...(found.get(marker) ?? []), memory]);
  }
  const problems: string[] = [];
  for (const [marker, { length }] of found) {
    if (!entries.has(marker)) problems.push(`${marker} was never written`);
    if (length > 1) problems.push(`${marker} is there ${length} times`);
  }
  for (const entry of entries.values()) {
    const [memory] = found.get(entry.marker) ?? [];
    const content = memory?.content ?? null;
    if (!isPossible(entry, content)) problems.push(`${entry.marker} says ${show(content)} and should say ${show(entry.acknowledged)}`);
    if (memory && entry.id !== null && memory.id !== entry.id)
      problems.push(`${entry.marker} has the id ${memory.id} and was acknowledged as ${entry.id}`);
  }
  return problems;
}

const show = (content: Content) => (content === null ? 'nothing' : JSON.stringify(content));
