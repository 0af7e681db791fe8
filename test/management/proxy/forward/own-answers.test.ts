import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { expect, it } from 'vitest';
import { foreignAnswer } from '../../../../src/management/proxy/forward/own-answers.ts';

it.each([
  ['/k8s/clusters/a/api/v1/x?y=1', '/prefix/api/v1/x?y=1'],
  ['/k8s/clusters/a', '/prefix'],
  ['https://upstream.example/k8s/clusters/a/z', '/prefix/z'],
  // Another cluster behind the same address.
  ['/k8s/clusters/a-2/api/v1/x', undefined],
  ['/k8s/clusters/b', undefined],
  ['/k8s/clusters/a/../b/api', undefined],
  ['https://user:word@upstream.example/k8s/clusters/a/z', undefined],
  ['https://user@upstream.example/k8s/clusters/a/z', undefined],
])('a redirect of a cluster below a path, to %s, becomes %s', async (location, wanted) => {
  const response = Object.assign(new IncomingMessage(new Socket()), { statusCode: 302, headers: { location } });
  const connection = { server: 'https://upstream.example/k8s/clusters/a/' };
  const upstream = { name: 'cluster "a"', mendRights: '', connection };
  const judged = await foreignAnswer(response, { upstream, prefix: '/prefix', reshape: undefined });
  if (wanted === undefined) expect(judged).toMatchObject({ kind: 'refused', status: { code: 502 } });
  else expect(judged).toEqual({ kind: 'passes', location: wanted, start: undefined });
});
