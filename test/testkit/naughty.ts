import { afterEach, beforeAll, expect } from 'vitest';
import { inParallel } from '../../bench/load.ts';
import type { Client } from './client.ts';
import type { TestService } from './service.ts';

/** Texts that programs stumble over. Some can't be stored (NUL, halves of surrogate pairs); all must be taken without a fault. */
export const naughty: readonly string[] = [
  ...words(
    'undefined null NULL nil None true false TRUE NaN Infinity -Infinity constructor prototype toString hasOwnProperty valueOf __defineGetter__ this',
  ),
  ...words(
    '0 1 -1 -0 1.5 1e5 1E400 0x10 0b1 0o7 007 1/0 ١٢٣ １２３ ½ ² Ⅷ 1,000 1.000,5 00 +1 .5 5. 9007199254740993 99999999999999999999999999 1_000 ∞',
  ),
  ...words('\' \'\' " "" ` \\ \\\\ \\\' \\" / // /* */ -- # ; ; ; : , . .. ... ~ ! @ $ % ^ & * ( ) [ ] { } < > | ? + = _ -'),
  // SQL, Cypher, Lucene
  "' OR '1'='1",
  "'; DROP TABLE users; --",
  '1; SELECT pg_sleep(5)',
  "') RETURN m //",
  "'}) DETACH DELETE n WITH 1 AS x MATCH (n) RETURN n //",
  '$accountId',
  '$$content$$',
  '`m` SET m.accountId = 1',
  'CALL dbms.killTransactions()',
  '*:*',
  'content:* AND facets:*',
  '+a -b !c',
  'a && b || c',
  '(((((',
  ')))))',
  '"unclosed',
  '[a TO z}',
  '/.*/',
  'a~0.5^10',
  'a*?b',
  'AND',
  'OR NOT',
  'field\\:value',
  '{!lucene q.op=AND}x',
  // JSON, GraphQL, templates
  '{"a":1}',
  '{"$ne": null}',
  '["a"]',
  '\\u0000',
  '\\ud800',
  '"}],"errors":[',
  '{ __schema { types { name } } }',
  'query { memories { nodes { id } } }',
  '"""block"""',
  '#comment\nquery',
  '{{7*7}}',
  '${7*7}',
  '<%= 7*7 %>',
  '#{7*7}',
  '${jndi:ldap://127.0.0.1/a}',
  // HTML, URLs, shell, paths, formats
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(1)>',
  '&lt;b&gt; &amp; &#0; &nbsp;',
  'javascript:alert(1)',
  'http://a/%%30%30',
  '%00',
  '%2e%2e%2f',
  '%E0%80%80',
  '%zz',
  'a%20b+c&d=e;f#g?h',
  '../../../../etc/passwd',
  'C:\\Windows\\system32',
  '\\\\server\\share',
  'file:///etc/passwd',
  '$(touch /tmp/x)',
  '`id`',
  '; ls -la | cat',
  '%s%s%n%d%x',
  '{0}{1}%1$s',
  'CON',
  'a\r\nSet-Cookie: x=y',
  'Bearer x',
  // White space and line ends
  ' ',
  '   ',
  '\t',
  '\n',
  '\r\n',
  ' leading and trailing ',
  'a\nb',
  'a\r\nb',
  'a\u0085b',
  'a\u2028b',
  'a\u2029b',
  'tab\tin\tbetween',
  ...[...'\u00a0\u1680\u2000\u2003\u200a\u202f\u205f\u3000\ufeff'].flatMap((space) => [space, `a${space}b`, `${space}x${space}`]),
  // Control characters, NUL, noncharacters, private use
  ...Array.from({ length: 32 }, (_, code) => `c${String.fromCharCode(code)}d`),
  '\0',
  'a\0',
  '\u007f',
  '\u0080\u009f',
  '\ufffe\uffff',
  '\ufffd',
  '\ue000\uf8ff',
  '\u{10ffff}',
  '\u{1ffff}',
  // Halves of pairs
  '\ud800',
  '\udc00',
  'a\ud83d',
  '\udc00\ud800',
  'x\udfffy',
  // Zero width, direction, joiners, tags
  '\u200b',
  'zero\u200bwidth\u200c\u200d\u2060',
  '\u202eright to left\u202c',
  '\u2066isolated\u2069',
  '\u200f\u061c',
  'שלום עולם',
  'مرحبا بالعالم',
  'الكل في المجمو عة (5)',
  '\u{e0001}\u{e0041}\u{e007f}',
  '\ufe0f',
  'text\ufe0e emoji\ufe0f',
  // Combining marks
  'e\u0301',
  '\u00e9',
  '\u0301',
  `Z${'\u0352\u0301\u0489'.repeat(6)}algo`,
  'Å Å Å',
  'ﬁ ﬂ ﬃ ß ẞ',
  'İ ı I i̇',
  '가 가 ᄀᄀᄀ각ᆨᆨ',
  'क्षि ක්‍ෂ',
  '\u0bb8\u0bcd\u0bb0\u0bc0',
  // Scripts
  '田中さんにあげて下さい',
  '部落格 和製漢語',
  '사회과학원',
  'Καλημέρα κόσμε',
  'Съешь же ещё этих мягких',
  'สวัสดีชาวโลก',
  'ᚠᛇᚻ᛫ᛒᛦᚦ',
  '𝕿𝖍𝖊 𝓺𝓾𝓲𝓬𝓴 ｂｒｏｗｎ',
  '𐐀𐐨 𠜎𠜱 𒐫 ﷽',
  'lſ K Ω',
  // Emoji
  '😀',
  '👩‍👩‍👧‍👦',
  '👍🏽 🏴󠁧󠁢󠁥󠁮󠁧󠁿 🇦🇶🇧🇻',
  '❤️‍🔥',
  '🏳️‍⚧️',
  '1️⃣ #️⃣',
  '💣'.repeat(20),
  '\u200d\u200d😀\u200d',
  // Long ones, each at and beyond the limit of a field
  'x'.repeat(64),
  'x'.repeat(65),
  '語'.repeat(100),
  '語'.repeat(101),
  '😀'.repeat(128),
  'x'.repeat(256),
  '😀'.repeat(256),
  'x'.repeat(257),
  'long'.repeat(500),
  'a '.repeat(1_001),
  '-'.repeat(3_000),
  '\u0301'.repeat(2_000),
  '('.repeat(1_900),
  '"a" '.repeat(450),
];

function words(text: string): string[] {
  return text.split(' ');
}

/** What only a stack trace or an error of the database has. */
export const TRACES = /\bat [\w.<>]+ \(|node_modules|Neo4jError|TypeError|RangeError|\.ts:\d+/;

/** Fails for a 5xx, and for an answer that shows a stack trace. */
export function expectNoFault(reply: { status: number; story: string }): void {
  expect(reply.status, reply.story).toBeGreaterThanOrEqual(200);
  expect(reply.status, reply.story).toBeLessThan(500);
  expect(reply.story).not.toMatch(TRACES);
}

/** Runs the work for each item, eight at a time. */
export async function forEach<T>(items: readonly T[], work: (item: T, index: number) => Promise<void>): Promise<void> {
  await inParallel(8, items.entries(), ([index, item]) => work(item, index));
}

/** A client of a new account, for all tests of a file; after each test the service must be well, whatever was thrown at it. */
export function useUnharmed(service: TestService): Client {
  let agent: Client;
  beforeAll(async () => {
    agent = await service.newAccount();
  });
  afterEach(async () => {
    const alive = await agent.get('/health');
    expect(alive.body.status, alive.story).toBe('ok');
  });
  return new Proxy({} as Client, { get: (_, name) => agent[name as keyof Client] });
}
