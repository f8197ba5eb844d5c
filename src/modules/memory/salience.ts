import type { Memory } from './model.ts';

const TIER_PART = [1, 0.4, 0.6, 0.8] as const;
const DAY = 86_400_000;

/**
 * How much a memory matters by itself, 0–1:
 * 0.4 tier (pinned 1, organization .8, semantic .6, session .4) + 0.25 specificity + 0.2 recalled (1 − e^(−recalls/5)) +
 * 0.15 recency (halves every 30 days).
 */
export function salienceOf(memory: Pick<Memory, 'tier' | 'specificity' | 'recalls' | 'createdAt'>, now: number): number {
  const recalled = 1 - Math.exp(-memory.recalls / 5);
  const recency = 0.5 ** (Math.max(0, now - memory.createdAt) / (30 * DAY));
  return round(0.4 * (TIER_PART[memory.tier] ?? 0.6) + 0.25 * memory.specificity + 0.2 * recalled + 0.15 * recency);
}

/**
 * How particular a text is, 0–1: the mean of how many different words it has (30 and more count fully) and how many of
 * them are names or numbers (a third and more count fully).
 */
export function specificityOf(content: string): number {
  const words = content.match(/[\p{L}\p{N}][\p{L}\p{N}'’.-]*/gu) ?? [];
  if (words.length === 0) return 0;
  const distinct = new Set(words.map((word) => word.toLowerCase())).size;
  const particular = words.filter((word, index) => /\p{N}/u.test(word) || (index > 0 && /^\p{Lu}/u.test(word))).length;
  return round((Math.min(1, distinct / 30) + Math.min(1, (3 * particular) / words.length)) / 2);
}

function round(value: number): number {
  return Math.round(value * 10_000) / 10_000;
}
