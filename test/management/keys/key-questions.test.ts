// The audit of the questions of `hostward keys`: two of them change something.
import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { AuditTrail, entryOf } from '../../../src/apiserver/caller/audit-trail.ts';
import { ServedRequest } from '../../../src/apiserver/chain/served-request.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { keyQuestions, type QuestionParts } from '../../../src/management/keys/key-questions.ts';

it('have their outcome in the audit log before their answer leaves', async () => {
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/hostward/made-by?uid=u' });
  const response = new ServerResponse(request);
  const said: string[] = [];
  const audit = {
    begins: () => void said.push('begins'),
    ends: (_entry: unknown, code: number) => void said.push(`ends ${code}, answered: ${response.writableEnded}`),
  };
  const target = parseTarget(request.method, request.url);
  const trail = new AuditTrail(audit, entryOf(request, target));
  const exchange = new ServedRequest({
    ...{ request, entrance: undefined, target, trail },
    client: { kind: 'response', response },
  });
  exchange.user = { name: 'admin', groups: [] };
  const parts: Pick<QuestionParts, 'isAdministrator' | 'isHere' | 'facts'> = {
    isAdministrator: () => true,
    isHere: () => false,
    facts: () => [],
  };
  await keyQuestions(parts as QuestionParts).serve(exchange);
  expect(said).toEqual(['begins', 'ends 200, answered: false']);
  expect(response.writableEnded).toBe(true);
});
