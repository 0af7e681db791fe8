// A platform, a cluster that answers as a test says, and a direct endpoint between them and the client: all on real sockets.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { callerLimits } from '../../../../src/apiserver/limits/caller-limits.ts';
import { freePort } from '../../../../src/cli/demo/free-ports.ts';
import type { DirectSettings } from '../../../../src/config/settings/management-settings.ts';
import { createLog } from '../../../../src/log.ts';
import { DirectEndpoint } from '../../../../src/management/proxy/direct/direct-endpoint.ts';
import { keysPath, type MovedClock, movedClock, people, until } from '../../server/bench.ts';
import { type Behind, openBehind } from '../upstream.ts';

export const tokensPath = '/kubernetes/management/apis/management.platform/v1/directclusterendpointtokens';

export interface Opened {
  response: IncomingMessage;
  text(): string;
  ended: Promise<void>;
}

export interface EndpointBench {
  behind: Behind;
  endpoint: DirectEndpoint;
  clock: MovedClock;
  keyFile: string;
  certificateAuthority: string;
  platform: string;
  log(): string;
  /** A token of a new key; its name and the token. */
  tokenFor(name: string, spec?: object, tokenSpec?: object): Promise<string>;
  change(name: string, spec: object): Promise<number>;
  ask(path: string, token?: string, how?: { method?: string; body?: string }): Promise<{ code: number; text: string }>;
  /** An answer that stays open; resolves with its head. */
  open(path: string, token: string, headers?: Record<string, string>): Promise<Opened>;
  /** A request to change to SPDY/3.1; resolves with the open connection. */
  upgrade(path: string, token: string): Promise<Omit<Opened, 'response'>>;
  /** Another endpoint on the same platform and cluster. */
  endpointWith(settings: Partial<DirectSettings>, limits?: typeof callerLimits): Promise<DirectEndpoint>;
  stop(): Promise<void>;
}

export async function openEndpoint(more: Partial<DirectSettings> = {}): Promise<EndpointBench> {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-direct-'));
  const clock = movedClock();
  const port = await freePort();
  const platform = `https://localhost:${port}`;
  // Each test makes keys of one owner.
  const behind = await openBehind({ port, clock, settings: { keys: { ...people.keys, perOwner: 1000 } } });
  const { bench } = behind;
  const agent = await bench.keyFor('agent-c1', { user: 'admin', scope: { roles: [{ role: 'agent' }] } });
  const keyFile = join(folder, 'agent-key');
  const certificateAuthority = join(folder, 'platform-ca.crt');
  writeFileSync(keyFile, `${agent}\n`, { mode: 0o600 });
  writeFileSync(certificateAuthority, bench.api.caPem);
  let output = '';
  const write = (line: string) => {
    output += line;
  };
  const log = createLog({ level: 'info', destination: { write } });
  const running: DirectEndpoint[] = [];
  const endpointWith = async (settings: Partial<DirectSettings>, limits = callerLimits) => {
    const endpoint = new DirectEndpoint({
      settings: {
        listen: '127.0.0.1:0',
        cluster: 'c1',
        kubeconfig: behind.kubeconfigPath,
        platform,
        certificateAuthority,
        keyFile,
        silence: 30,
        spaces: [{ project: 'shop', name: 's1', namespace: 'shop-s1' }],
        dataDir: join(folder, `endpoint-${running.length}`),
        ...settings,
      },
      environment: {},
      clock,
      log,
      failedLogin: () => undefined,
      callerLimits: limits,
    });
    running.push(endpoint);
    await endpoint.start();
    return endpoint;
  };
  const endpoint = await endpointWith(more);
  await until(() => endpoint.trouble === undefined, 'the first revocations');
  const tokenFor = async (name: string, spec: object = {}, tokenSpec: object = {}) => {
    const key = await bench.keyFor(name, { user: 'alice', ...spec });
    const { body, text } = await bench.ask('POST', tokensPath, { key, body: { spec: tokenSpec } });
    if (body['status']?.['token'] === undefined) throw new Error(text);
    return String(body['status']['token']);
  };
  return {
    ...{ behind, endpoint, clock, tokenFor, endpointWith, keyFile, certificateAuthority, platform },
    log: () => output,
    async change(name, spec) {
      const type = 'application/merge-patch+json';
      return (await bench.ask('PATCH', `${keysPath}/${name}`, { type, body: { spec } })).code;
    },
    ask: (path, token, how) => askAt(endpoint, path, token, how),
    open: (path, token, headers) => openAt(endpoint, path, token, { headers }),
    upgrade: (path, token) => upgradeAt(endpoint, path, token),
    async stop() {
      for (const one of running) await one.stop();
      await behind.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

export async function askAt(
  endpoint: DirectEndpoint,
  path: string,
  token?: string,
  { method = 'GET', body }: { method?: string; body?: string } = {},
): Promise<{ code: number; text: string }> {
  const { response, text, ended } = await openAt(endpoint, path, token, { method, body });
  await ended;
  return { code: response.statusCode ?? 0, text: text() };
}

export function openAt(
  endpoint: DirectEndpoint,
  path: string,
  token?: string,
  {
    method = 'GET',
    body,
    headers: more,
  }: { method?: string; body?: string | undefined; headers?: object | undefined } = {},
): Promise<Opened> {
  const headers = { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...more };
  const to = { host: '127.0.0.1', port: endpoint.port, ca: endpoint.caPem, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ ...to, path, method, headers }, (response) => {
      let text = '';
      response.on('data', (part) => {
        text += String(part);
      });
      response.on('error', () => undefined);
      const ended = new Promise<void>((over) => response.once('close', () => over()));
      resolve({ response, text: () => text, ended });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function upgradeAt(endpoint: DirectEndpoint, path: string, token: string): Promise<Omit<Opened, 'response'>> {
  const headers = { authorization: `Bearer ${token}`, connection: 'Upgrade', upgrade: 'SPDY/3.1' };
  const to = { host: '127.0.0.1', port: endpoint.port, ca: endpoint.caPem, agent: false as const };
  return new Promise((resolve, reject) => {
    const sent = httpsRequest({ ...to, path, method: 'POST', headers });
    sent.once('response', (response) => reject(new Error(`want 101, got ${response.statusCode}`)));
    sent.once('upgrade', (_response, socket, head) => {
      let text = head.toString();
      socket.on('data', (part: Buffer) => {
        text += part.toString();
      });
      socket.on('error', () => undefined);
      resolve({ text: () => text, ended: new Promise((over) => socket.once('close', () => over())) });
    });
    sent.on('error', reject);
    sent.end();
  });
}
