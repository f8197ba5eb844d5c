import { type AuditResult, serverAudits } from 'graphql-http';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Client } from './testkit/client.ts';
import { useService } from './testkit/service.ts';

/** What does not pass, and must not: recommendations (warn) and liberties (notice) of the specification. */
const NOT_FOLLOWED: Readonly<Record<string, { ids: readonly string[]; status: AuditResult['status'] }>> = {
  'Apollo Server answers 400 to a malformed request, also where application/json would let it say 200': {
    ids: ['572B', 'FDE2', '7B9B'],
    status: 'warn',
  },
  'A GET needs a header that no page of another origin can send unasked (CSRF), and the audit does not send one': {
    ids: ['5A70', 'D6D5', '6A70'],
    status: 'notice',
  },
};

const service = useService();
let agent: Client;
beforeAll(async () => {
  agent = await service.newAccount();
});

describe("GraphQL over HTTP's own audit", () => {
  const audits = serverAudits({
    url: () => `${service.url}/graphql`,
    fetchFn: (url: string, init?: RequestInit) => {
      const headers = new Headers(init?.headers);
      headers.set('authorization', `Bearer ${agent.key}`);
      return fetch(url, { ...init, headers });
    },
  });

  it.each(audits.map((audit): [string, string, () => Promise<AuditResult>] => [audit.id, audit.name, audit.fn]))('%s: %s', async (id, _, audit) => {
    const result = await audit();
    const exception = Object.values(NOT_FOLLOWED).find(({ ids }) => ids.includes(id));
    expect(result.status, 'reason' in result ? result.reason : '').toBe(exception?.status ?? 'ok');
  });
});
