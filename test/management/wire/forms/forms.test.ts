import { describe, expect, it } from 'vitest';
import { Dice } from '../../model/dice.ts';
import { bytesOf, forms, plain } from './forms.ts';
import { fuzz } from './fuzz-forms.ts';
import { proxiedForms } from './proxied-forms.ts';
import { answersIn } from './raw-client.ts';
import { arrivalFaults } from './upstream.ts';

describe('forms of a request', () => {
  const wire = { method: 'POST', path: '/kubernetes/management/apis/a/v1/things?dryRun=All', body: { a: 1 } };
  it('are all different from the request as it is, and can be sent', () => {
    const usual = bytesOf(plain('key', wire), true).toString('latin1');
    const told = [...forms, ...proxiedForms.filter((form) => !forms.includes(form))].flatMap((form) => {
      const sent = form.apply(plain('key', wire), new Dice(7));
      return sent === undefined ? [] : [[form.name, bytesOf(sent, true).toString('latin1')] as const];
    });
    expect(told.filter(([name, text]) => text === usual && name !== 'as it is')).toEqual([]);
    expect(told.length).toBeGreaterThan(30);
    for (const [, text] of told) expect(text).toMatch(/^POST \S+ HTTP\/1\.1\r\n/);
  });
});

describe('answersIn()', () => {
  it('reads several answers of one connection, whole and in chunks, and stops at what is no answer', () => {
    const text =
      'HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}' +
      'HTTP/1.1 403 Forbidden\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n1\r\nd\r\n0\r\n\r\nHTTP/1.1 4';
    expect(answersIn(text).map(({ code, text: body }) => [code, body])).toEqual([
      [200, '{}'],
      [403, 'abcd'],
    ]);
  });
});

describe('fuzz()', () => {
  const seeds = Array.from({ length: 14 }, (_, nth) => 1000 + nth);
  it('finds no difference between a server and the model, and finds a model that is wrong', async () => {
    const { asked, sent, arrived, found } = await fuzz(seeds);
    expect(found).toEqual([]);
    expect(arrived).toBeGreaterThan(0);
    expect(asked).toBeGreaterThan(8);
    expect(sent.size).toBeGreaterThan(5);
    const wrong = () => ({ answer: { allowed: true, sees: [] }, because: ['it is wrong'] });
    expect((await fuzz(seeds, { judge: wrong })).found.length).toBeGreaterThan(0);
  });
});

describe('arrivalFaults()', () => {
  const path = '/api/v1/namespaces/shop/pods';
  const wire = { method: 'POST', path: `/kubernetes/cluster/c1${path}?dryRun=All`, body: { a: 1 } };
  const key = { name: 'k', creationTimestamp: '2026-01-01T00:00:00Z', user: 'alice' };
  const about = { key, secret: 'the-key', wire, target: { kind: 'Cluster', cluster: 'c1' } as const };
  const headers: [string, string][] = [
    ['authorization', 'Bearer upstream-secret'],
    ['impersonate-user', 'hostward:user:alice'],
    ['impersonate-group', 'hostward:project:shop:user'],
    ['x-forwarded-proto', 'https'],
  ];
  const arrival = { method: 'POST', url: `${path}?dryRun=All`, headers, body: '{"a": 1}' };
  const faultsOf = (changed: object, more: [string, string][] = []) =>
    arrivalFaults(
      { ...arrival, headers: [...headers, ...more], ...changed },
      { ...about, sent: plain('the-key', wire) },
    );

  it('has nothing to say of a request that arrives as it was judged', () => {
    expect(faultsOf({})).toEqual([]);
  });

  it.each([
    ['another place', { url: '/api/v1/namespaces/other/pods' }, [], /arrived at/],
    ['another method', { method: 'PUT' }, [], /arrived as PUT/],
    ['another body', { body: '{"a": 2}' }, [], /with the body/],
    ['a watch that nobody asked for', { url: `${path}?watch=true` }, [], /as a watch/],
    ['a second user', {}, [['impersonate-user', 'admin']], /impersonate-user/],
    ['a group of the cluster', {}, [['impersonate-group', 'system:masters']], /system:masters/],
    ['a claim with an underscore', {}, [['x_remote_user', 'admin']], /x_remote_user/],
    ['a claim of a proxy in front', {}, [['x-forwarded-for', '10.0.0.1']], /x-forwarded-for/],
    ['a cookie', {}, [['cookie', 'a=b']], /cookie/],
    ['the key', {}, [['x-other', 'Bearer the-key']], /the key arrived/],
  ] as const)('names %s', (_what, changed, more, says) => {
    expect(faultsOf(changed, more as unknown as [string, string][]).join()).toMatch(says);
  });
});
