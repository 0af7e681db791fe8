import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Chain, type Filters, type Route } from '../../../src/apiserver/chain/chain.ts';
import type { Audit } from '../../../src/apiserver/kinds/kit.ts';
import { StatusFault } from '../../../src/apiserver/request/status-fault.ts';
import { parseTarget } from '../../../src/apiserver/request/target.ts';
import { silentLog } from '../../../src/log.ts';
import { badRequest, forbidden, serviceUnavailable, tooManyRequests } from '../../../src/object/meta/status.ts';
import { VirtualClock } from '../../virtual-clock.ts';

interface Case {
  filters?: (said: string[]) => Partial<Filters>;
  headers?: Record<string, string>;
  closed?: string;
  audit?: Partial<Audit>;
  route?: Partial<Route>;
}

const user = { name: 'ann', groups: [] };
const refuse = (status: ConstructorParameters<typeof StatusFault>[0]) => {
  throw new StatusFault(status);
};
const nothing = { group: '', resource: '' };

/** What the chain asked, in order, and the answer; nothing is opened but objects. */
async function passed({ filters, headers = {}, closed, audit, route }: Case) {
  const said: string[] = [];
  const all: Filters = {
    classify: ({ method = '', url = '' }) => ({ target: parseTarget(method, url) }),
    authenticate: () => user,
    admit: async () => undefined,
    impersonate: ({ sender }) => sender,
    authorize: () => ({ allowed: true }),
    ...filters?.(said),
  };
  const heard = <Name extends keyof Filters>(name: Name): Filters[Name] =>
    ((...given: unknown[]) => {
      said.push(name);
      return (all[name] as (...values: unknown[]) => unknown)(...given);
    }) as Filters[Name];
  const chain = new Chain({
    filters: {
      classify: heard('classify'),
      authenticate: heard('authenticate'),
      admit: heard('admit'),
      impersonate: heard('impersonate'),
      authorize: heard('authorize'),
      ...(all.failedLogin && { failedLogin: heard('failedLogin') as NonNullable<Filters['failedLogin']> }),
    },
    routes: [
      {
        takes: () => true,
        async serve(exchange) {
          await exchange.begins();
          said.push('serve');
          exchange.response.end();
        },
        ...route,
      },
    ],
    audit: {
      begins: (entry) => {
        said.push('begins');
        return audit?.begins?.(entry);
      },
      ends: (_entry, code) => void said.push(`ends ${code}`),
    },
    dialect: 'strict',
    isClosed: () => closed,
    clock: new VirtualClock(),
    log: silentLog,
  });
  const request = Object.assign(new IncomingMessage(new Socket()), { method: 'GET', url: '/metrics', headers });
  request.complete = true;
  const response = new ServerResponse(request);
  await chain.handle(request, { kind: 'response', response });
  return {
    said,
    code: response.statusCode,
    retryAfter: response.getHeader('retry-after'),
    connection: response.getHeader('connection'),
  };
}

const bearer = { authorization: 'Bearer x' };
const cases: [what: string, of: Case, code: number, said: string][] = [
  ['a request that everybody lets through', {}, 200, 'classify authenticate admit impersonate authorize begins serve'],
  [
    'a path with two meanings, before anybody looks who sent it',
    { filters: () => ({ classify: () => ({ target: parseTarget('GET', ''), fault: badRequest('not plain') }) }) },
    400,
    'classify',
  ],
  ['a request while the server stops', { closed: 'the server is stopping' }, 503, 'classify'],
  [
    'a request without credentials, which is no guess',
    { filters: () => ({ authenticate: () => undefined, failedLogin: () => 7 }) },
    401,
    'classify authenticate',
  ],
  [
    'a wrong credential',
    { headers: bearer, filters: () => ({ authenticate: () => undefined, failedLogin: () => undefined }) },
    401,
    'classify authenticate failedLogin',
  ],
  [
    'one wrong credential too many',
    { headers: bearer, filters: () => ({ authenticate: () => undefined, failedLogin: () => 7 }) },
    429,
    'classify authenticate failedLogin',
  ],
  [
    'a caller who holds too much, before its rights are looked at',
    { filters: () => ({ admit: async () => refuse(tooManyRequests('too many', 1)) }) },
    429,
    'classify authenticate admit',
  ],
  [
    'a body that two readers would see differently',
    { headers: { 'transfer-encoding': 'gzip, chunked' } },
    400,
    'classify authenticate admit',
  ],
  [
    'a wish to be somebody else',
    { filters: () => ({ impersonate: () => refuse(forbidden(nothing, '', 'no')) }) },
    403,
    'classify authenticate admit impersonate',
  ],
  [
    'a missing right',
    { filters: () => ({ authorize: () => ({ allowed: false, reason: 'no' }) }) },
    403,
    'classify authenticate admit impersonate authorize',
  ],
  [
    'a change whose line cannot be written, which is not carried out',
    { audit: { begins: () => refuse(serviceUnavailable('no line')) } },
    503,
    'classify authenticate admit impersonate authorize begins',
  ],
];

describe('the chain of filters', () => {
  it.each(cases)('%s', async (_what, of, code, said) => {
    const answer = await passed(of);
    expect(answer.code).toBe(code);
    expect(answer.said).toEqual([...said.split(' '), `ends ${code}`]);
  });

  it('tells a source with too many wrong credentials how long to wait', async () => {
    const failing = () => ({ authenticate: () => undefined, failedLogin: () => 7 });
    expect(String((await passed({ headers: bearer, filters: failing })).retryAfter)).toBe('7');
  });

  it('sends the clients of a server that stops to another one, soon', async () => {
    const answer = await passed({ closed: 'the server is stopping' });
    expect([String(answer.retryAfter), answer.connection]).toEqual(['1', 'close']);
  });

  it('gives a route that passes on an id of its own, whatever the client sends', async () => {
    const ids: string[] = [];
    const serve: Route['serve'] = async ({ trail, response }) => {
      ids.push(trail.entry.id);
      response.end();
    };
    const headers = { 'audit-id': 'of-the-client' };
    await passed({ headers, route: { serve } });
    await passed({ headers, route: { serve, passesOn: true } });
    expect(ids).toEqual(['of-the-client', expect.stringMatching(/^[0-9a-f]{8}-/)]);
  });
});
