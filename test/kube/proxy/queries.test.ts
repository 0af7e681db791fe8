// The reader of a query against that of a real kube-apiserver: its audit log tells which verb and name it judged, a kubelet that
// records its requests tells which options it passed on. What the proxy writes again must mean there what it was judged to mean.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { Agent, createServer, request, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { makeServingCertificate } from '../../../src/apiserver/tls/certificates.ts';
import { classify } from '../../../src/management/scope/classify.ts';
import { Dice } from '../../management/model/dice.ts';
import { kubeAssets } from '../start/assets.ts';
import { kubeletFlags, registerNode } from '../start/kubelet.ts';
import { type KubeCluster, startKube } from '../start/start.ts';

const assets = kubeAssets().found;
const spellings = Number(process.env['HOSTWARD_QUERIES'] ?? 700);
const configmaps = '/api/v1/namespaces/default/configmaps';
const web = '/api/v1/namespaces/default/pods/web';
/** A program that uses a name in a selector may write it in many ways; so many of all spellings must not be refused by us. */
const leastRead = 0.6;

const names = [
  'watch',
  'watch',
  'watch',
  'wat%63h',
  '%77atch',
  'Watch',
  'WATCH',
  '%3Fwatch',
  '?watch',
  'watch%00',
  '+watch',
];
const values = [
  ...[
    'true',
    'True',
    'TRUE',
    '1',
    't',
    'yes',
    '',
    'false',
    'False',
    'FALSE',
    'fAlSe',
    'fal%C5%BFe',
    '%66alse',
    'fals%65',
  ],
  ...[
    '0',
    '00',
    '+0',
    '-0',
    '0.0',
    '%30',
    'f',
    'F',
    'no',
    'false+',
    '+false',
    'false%20',
    'false%00',
    'null',
    'false=',
    '%E2%84%AA',
  ],
];
const selectors = [
  ...['metadata.name%3Da', 'metadata.name=a', 'metadata.name%3D%3Da', 'metadata.name!%3Da', 'metadata.name%3D'],
  ...[
    'metadata.name%3Da%2Cmetadata.name%3Db',
    'metadata.name%3Db,metadata.name%3Da',
    'metadata.namespace%3Ddefault,metadata.name%3Da',
  ],
  ...[
    'metadata.name%3Da%5C%2Cb',
    'metadata.name%3Da%5C%5C',
    'metadata.name%3Da%5C',
    'metadata.name%3D..',
    'metadata.name%3D.',
  ],
  ...[
    'metadata.name%3Da%2Fb',
    'metadata.name%3Da%25',
    'metadata.name+%3D+a',
    'metadata.name%3D+a',
    ',metadata.name%3Da,',
    '',
  ],
  ...[
    'metadata.name',
    '%3Da',
    'metadata.name%3Da,metadata.name!%3Db',
    'metadata.name%3D%C3%A9',
    'Metadata.name%3Da',
    ',',
    '%3D',
  ],
  ...['metadata.name%3Da%3Db', 'metadata.name%3Da%00', 'data.x%3D1', 'metadata.name in (a)'.replaceAll(' ', '%20')],
];
const others = [
  ...[
    'limit=5',
    'limit=x',
    'limit=',
    'timeoutSeconds=x',
    'labelSelector=a%3Db',
    'labelSelector=%28',
    'resourceVersion=0',
    'pretty=1',
  ],
  ...[
    'a;b',
    'fieldSelector;=x',
    '%zz=1',
    'x=%',
    'watch=%zz',
    'fieldSelector=%zz',
    '',
    '&',
    '=',
    '=x',
    'unknown=%2B+',
    'x#watch=true',
  ],
  ...[
    'allowWatchBookmarks=False',
    'sendInitialEvents=x',
    'resourceVersionMatch=Exact',
    'x=%ff',
    'fieldSelector=metadata.name%3D%ff',
  ],
];

function spelled(dice: Dice): string {
  const pairs: string[] = [];
  for (let at = dice.below(3); at > 0; at--) {
    const value = dice.pick(values);
    pairs.push(dice.chance(15) ? dice.pick(names) : `${dice.pick(names)}=${value}`);
  }
  for (let at = dice.below(3); at > 0; at--)
    pairs.push(`${dice.chance(90) ? 'fieldSelector' : 'fieldselector'}=${dice.pick(selectors)}`);
  if (dice.chance(40)) pairs.push(dice.pick(others));
  for (let at = pairs.length; at > 1; at--) pairs.push(...pairs.splice(dice.below(at), 1));
  const query = pairs.join('&');
  if (!dice.chance(1)) return dice.chance(5) ? `?${query}` : query;
  return query + '&'.repeat(dice.pick([9_990, 9_999, 10_000, 10_001]));
}

describe.skipIf(assets === undefined)('a query, as kube-apiserver reads it', () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  let folder: string;
  let cluster: KubeCluster;
  let kubelet: Server;
  const passedOn: string[] = [];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'hostward-queries-'));
    const rules = [{ level: 'Metadata', users: ['admin'], omitManagedFields: true }, { level: 'None' }];
    const omitStages = ['ResponseStarted', 'ResponseComplete', 'Panic'];
    const policy = { apiVersion: 'audit.k8s.io/v1', kind: 'Policy', omitStages, rules };
    writeFileSync(join(folder, 'policy.json'), JSON.stringify(policy));
    cluster = await startKube({
      name: 'queries',
      apiserverFlags: [
        `--audit-policy-file=${join(folder, 'policy.json')}`,
        `--audit-log-path=${join(folder, 'audit.log')}`,
        ...['--audit-log-mode=blocking-strict', '--disable-admission-plugins=ServiceAccount', ...kubeletFlags],
      ],
    });
    for (const name of ['a', 'b']) await cluster.kubectl('create', 'configmap', name);
    const { certPem, keyPem } = await makeServingCertificate('kubelet', ['127.0.0.1'], new Date());
    kubelet = createServer({ cert: certPem, key: keyPem }, ({ url = '' }, response) => {
      passedOn.push(url);
      response.end('a line\n');
    });
    kubelet.on('upgrade', ({ url = '' }, socket) => {
      passedOn.push(url);
      socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
    });
    await new Promise<void>((resolve) => kubelet.listen(0, '127.0.0.1', resolve));
    await registerNode(cluster, 'default', (kubelet.address() as AddressInfo).port);
  }, 120_000);
  afterAll(async () => {
    agent.destroy();
    kubelet?.closeAllConnections();
    await new Promise((resolve) => (kubelet === undefined ? resolve(undefined) : kubelet.close(resolve)));
    await cluster?.stop();
    if (folder !== undefined) rmSync(folder, { recursive: true, force: true });
  });

  /** The path as it is: no client of ours would write most of these. */
  async function send(method: string, path: string, how: { headers?: object; body?: string } = {}) {
    const { hostname, port } = new URL(cluster.url);
    const id = randomUUID();
    const headers = { authorization: `Bearer ${cluster.adminToken}`, 'audit-id': id, ...how.headers };
    const code = await new Promise<number>((resolve, reject) => {
      const sent = request({ hostname, port, method, path, headers, agent, ca: cluster.caPem });
      sent.on('error', reject);
      sent.on('upgrade', (_answer, socket) => {
        socket.destroy();
        resolve(101);
      });
      sent.on('response', (answer: IncomingMessage) => {
        answer.on('error', () => undefined);
        answer.resume();
        resolve(answer.statusCode ?? 0);
        // A watch would go on.
        if (answer.headers['content-length'] === undefined) answer.destroy();
      });
      sent.end(how.body);
    });
    return { id, code };
  }

  function judged(): Map<string, { verb: string; name: string }> {
    const lines = readFileSync(join(folder, 'audit.log'), 'utf8').split('\n');
    return new Map(
      lines
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as { auditID: string; verb: string; objectRef?: { name?: string } })
        .map(({ auditID, verb, objectRef }) => [auditID, { verb, name: objectRef?.name ?? '' }]),
    );
  }

  const asked = (method: string, rest: string) =>
    classify({ method, url: `/kubernetes/cluster/c1${rest}`, isUpgrade: false });

  it(`has the verb and the name that were judged, in ${spellings} spellings`, async () => {
    const dice = new Dice(30);
    const seen: { query: string; rest: string; want: object; raw: string; anew: string; codes: [number, number] }[] =
      [];
    let refused = 0;
    for (let at = 0; at < spellings; at++) {
      const query = spelled(dice);
      const path = dice.pick([
        configmaps,
        configmaps,
        configmaps,
        `${configmaps}/a`,
        configmaps.replace('/v1/', '/v1/watch/'),
      ]);
      const ours = asked('GET', `${path}?${query}`);
      if (ours.kind !== 'request' || !ours.request.isResource) {
        refused++;
        continue;
      }
      const { verb, name } = ours.request;
      const raw = await send('GET', `${path}?${query}`);
      const anew = await send('GET', ours.rest);
      seen.push({
        query,
        rest: ours.rest,
        want: { verb, name },
        raw: raw.id,
        anew: anew.id,
        codes: [raw.code, anew.code],
      });
    }
    const log = judged();
    for (const { query, rest, want, raw, anew, codes } of seen) {
      const about = `?${query.slice(0, 200)} as ${rest.slice(0, 200)}`;
      expect([about, codes[1]]).toEqual([about, codes[0]]);
      // Of a request that it refuses anyway, kube-apiserver judges only what it could read.
      if (codes[0] === 400) continue;
      expect([about, log.get(raw)]).toEqual([about, want]);
      expect([about, log.get(anew)]).toEqual([about, want]);
    }
    const verbs = new Set(seen.map(({ want }) => JSON.stringify(want)));
    expect(verbs.size).toBeGreaterThan(4);
    expect(seen.length).toBeGreaterThan(spellings * leastRead);
    expect(refused).toBeGreaterThan(0);
    expect(seen.filter(({ codes }) => codes[0] === 200).length).toBeGreaterThan(spellings / 3);
  }, 300_000);

  it('stores nothing for a dryRun that is written again, and something without one', async () => {
    const queries = [
      '',
      'dryRun=All',
      'dryRun=all',
      'dryRun=',
      'dryRun',
      'dryRun=All&dryRun=All',
      'dryRun=All&dryRun=',
      'dryRun=None',
    ];
    const more = [
      'DryRun=All',
      'dry%52un=All',
      '&dryRun=%41ll',
      '?dryRun=All',
      'dryRun=All+',
      'fieldManager=x&fieldManager=%00',
      'x&dryRun=All',
    ];
    for (const query of [...queries, ...more]) {
      const ours = asked('POST', `${configmaps}?${query}`);
      if (ours.kind !== 'request') throw new Error(`want a request, got ${ours.kind}`);
      const outcomes: object[] = [];
      for (const path of [`${configmaps}?${query}`, ours.rest]) {
        const body = JSON.stringify({ metadata: { name: 'made' } });
        const { code } = await send('POST', path, { body, headers: { 'content-type': 'application/json' } });
        const isThere = (await send('DELETE', `${configmaps}/made`)).code === 200;
        outcomes.push({ query, code, isThere });
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
    }
  });

  it('reaches the kubelet with the same options of logs and commands', async () => {
    const dice = new Dice(31);
    const flags = [
      'follow',
      'previous',
      'timestamps',
      'stdin',
      'stdout',
      'stderr',
      'tty',
      'insecureSkipTLSVerifyBackend',
    ];
    const numbers = ['tailLines', 'sinceSeconds', 'limitBytes'];
    let reached = 0;
    for (let at = 0; at < spellings / 4; at++) {
      const isLog = dice.chance(60);
      const pairs = dice.some(flags, 3).map((flag) => `${flag}=${dice.pick(values)}`);
      pairs.push(...dice.some(flags, 2));
      if (isLog && dice.chance(40)) pairs.push(`${dice.pick(numbers)}=${dice.pick(['1', '+1', '7', '', 'x', '01'])}`);
      if (dice.chance(30)) pairs.push(`container=${dice.pick(['main', 'm%61in', 'other', ''])}`, 'container=other');
      if (!isLog)
        for (const part of dice.some(['ls', '-l', 'a+b', '%20', '', '%26', '%25', '%C3%A9', 'a%2Cb'], 4))
          pairs.push(`command=${part}`);
      const path = `${web}/${isLog ? 'log' : 'exec'}`;
      const query = pairs.join('&');
      const method = isLog ? 'GET' : 'POST';
      const ours = classify({ method, url: `/kubernetes/cluster/c1${path}?${query}`, isUpgrade: !isLog });
      if (ours.kind !== 'request') throw new Error(`want a request for ?${query}, got ${ours.kind}`);
      const headers = isLog
        ? {}
        : { connection: 'Upgrade', upgrade: 'SPDY/3.1', 'x-stream-protocol-version': 'v4.channel.k8s.io' };
      const outcomes: object[] = [];
      for (const sent of [`${path}?${query}`, ours.rest]) {
        passedOn.length = 0;
        const { code } = await send(method, sent, { headers });
        outcomes.push({ query, code, passedOn: [...passedOn] });
      }
      expect(outcomes[1]).toEqual(outcomes[0]);
      if (passedOn.length > 0) reached++;
    }
    expect(reached).toBeGreaterThan(spellings / 16);
  }, 120_000);
});
