import { describe, expect, it } from 'vitest';
import { Dice } from '../../model/dice.ts';
import { bytesOf, forms, plain } from './forms.ts';
import { fuzz } from './fuzz-forms.ts';
import { proxiedForms } from './proxied-forms.ts';
import { answersIn } from './raw-client.ts';
import { arrivalFaults } from './upstream.ts';

describe('forms of a request', () => {
  const wire = { method: 'POST', path: '/kubernetes/management/apis/a/v1/things?dryRun=All', body: { a: 1 } };
  const target = { kind: 'Cluster', cluster: 'c1' } as const;
  const exec = {
    ...{ target, isResource: true as const, verb: 'create', group: '', resource: 'pods', subresource: 'exec' },
    ...{ namespace: 'default', name: 'web' },
  };
  const path = { target, isResource: false as const, verb: 'get', path: '/version' };
  it('are all different from the request as it is, and can be sent', () => {
    const usual = bytesOf(plain('key', wire), true).toString('latin1');
    const told = [...forms, ...proxiedForms.filter((form) => !forms.includes(form))].flatMap((form) => {
      const sent = form.apply(plain('key', wire), new Dice(7), exec);
      return sent === undefined ? [] : [[form.name, bytesOf(sent, true).toString('latin1')] as const];
    });
    expect(told.filter(([name, text]) => text === usual && name !== 'as it is')).toEqual([]);
    expect(told.length).toBeGreaterThan(40);
    for (const [name, text] of told)
      expect([name, text]).toEqual([name, expect.stringMatching(/^(POST|GET) \S+ HTTP\/1\.1\r\n/)]);
  });
  it('ask for sessions without a body, and for none where a list or a path is asked for', () => {
    const sessions = proxiedForms.filter(({ answersAs }) => answersAs !== undefined);
    expect(sessions.length).toBeGreaterThan(4);
    for (const { name, apply } of sessions) {
      const sent = apply(plain('key', wire), new Dice(7), exec);
      expect([name, sent?.body, sent?.headers.filter(([header]) => /^content-/i.test(header))]).toEqual([
        ...[name, undefined, []],
      ]);
      for (const request of [{ ...exec, verb: 'list' }, { ...exec, verb: 'deletecollection' }, path])
        expect([name, apply(plain('key', wire), new Dice(7), request)]).toEqual([name, undefined]);
    }
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
  it('takes all that follows a change of protocol for its text', () => {
    const answers = answersIn('HTTP/1.1 101 Switching Protocols\r\nUpgrade: a\r\n\r\nHTTP/1.1 200 OK\r\n\r\n');
    expect(answers.map(({ code, text }) => [code, text])).toEqual([[101, 'HTTP/1.1 200 OK\r\n\r\n']]);
  });
});

describe('fuzz()', () => {
  // `.ci/run` plays five hundred.
  const seeds = Array.from({ length: 7 }, (_, nth) => 1024 + nth);
  it('finds no difference between a server and the model, and finds a model that is wrong', async () => {
    const { asked, sent, arrived, taken, sessions, found } = await fuzz(seeds);
    expect(found).toEqual([]);
    expect([arrived > 0, sessions > 0, taken.has('endpoint')]).toEqual([true, true, true]);
    expect(asked).toBeGreaterThan(8);
    expect(sent.size).toBeGreaterThan(5);
    const wrong = () => ({ answer: { allowed: true, sees: [] }, because: ['it is wrong'] });
    expect((await fuzz(seeds.slice(0, 3), { judge: wrong })).found.length).toBeGreaterThan(0);
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
    ['the key', {}, [['x-other', 'Bearer the-key']], /the credential arrived/],
    ['the key, encoded', {}, [['x-other', Buffer.from('the-key').toString('base64url')]], /the credential arrived/],
    ['a protocol that nobody asked for', {}, [['upgrade', 'h2c']], /with upgrade h2c/],
  ] as const)('names %s', (_what, changed, more, says) => {
    expect(faultsOf(changed, more as unknown as [string, string][]).join()).toMatch(says);
  });
});
