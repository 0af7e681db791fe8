// The management server in front of the upstream of a benchmark; or direct tokens verified beside a bare `crypto.verify`.
import { generateKeyPairSync, sign, verify } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../src/clock.ts';
import { silentLog } from '../src/log.ts';
import { payloadOf, type TokenClaims } from '../src/management/credentials/claims/claims.ts';
import { readKeySet } from '../src/management/credentials/claims/key-set.ts';
import { Revocations } from '../src/management/credentials/claims/revocations.ts';
import { TokenCache } from '../src/management/credentials/claims/token-cache.ts';
import { refusedNow, verifyText } from '../src/management/credentials/claims/verify-token.ts';
import { ManagementApi } from '../src/management/server/server.ts';
import { answerCommands, Usage } from './answering.ts';
import type { ProxyReadings, ProxyServing } from './bare-proxy.ts';
import type { Target } from './management-client.ts';
import { kubeconfigOf, serverSettings, settingsOf, wholeLoop } from './management-seed.ts';

export type ProxyCommand =
  | { kind: 'hostward'; folder: string; to: Target; token: string }
  | { kind: 'tokens'; rounds: number }
  | { kind: 'reset' }
  | { kind: 'read' };

/** Microseconds of one verification of each kind. */
export interface TokenTimes {
  bare: number;
  uncached: number;
  cached: number;
}

const usage = new Usage();

async function answer(command: ProxyCommand): Promise<unknown> {
  switch (command.kind) {
    case 'hostward':
      return hostward(command);
    case 'tokens':
      return tokens(command.rounds);
    case 'reset':
      return usage.reset();
    case 'read':
      return usage.read() satisfies ProxyReadings;
    default:
      return command satisfies never;
  }
}

async function hostward({ folder, to, token }: Extract<ProxyCommand, { kind: 'hostward' }>): Promise<ProxyServing> {
  const kubeconfig = join(folder, 'upstream.kubeconfig');
  writeFileSync(kubeconfig, kubeconfigOf(to, token), { mode: 0o600 });
  const settings = {
    ...settingsOf({ keys: 0, owners: 1 }),
    clusters: [{ name: 'c1', kubeconfig, members: [{ user: 'few' }] }],
  };
  const server = serverSettings(join(folder, 'hostward'));
  const shared = { clock: systemClock, log: silentLog, version: '0.1.0', loopShares: wholeLoop };
  const api = new ManagementApi({ settings, server, ...shared });
  await api.open();
  const made = await api.createKey({ metadata: { generateName: 'bench-' }, spec: { user: 'few' } });
  await api.serve();
  return { port: api.port, caPem: api.caPem, bearer: (made['spec'] as { key: string }).key };
}

/** A token as the platform makes it for a pipeline, verified again and out of the cache, beside its signature alone. */
function tokens(rounds: number): TokenTimes[] {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const keys = readKeySet({ keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'k', alg: 'EdDSA', use: 'sig' }] });
  if (keys === undefined) throw new Error('the key set cannot be read');
  const issuer = 'https://platform.example';
  const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const now = Math.floor(Date.now() / 1000);
  const signed = `${part({ alg: 'EdDSA', typ: 'dct+jwt', kid: 'k' })}.${part(payloadOf(claimsAt(now, issuer)))}`;
  const signature = sign(null, Buffer.from(signed), privateKey);
  const text = `${signed}.${signature.toString('base64url')}`;
  const expected = { issuer, audience: 'c1' };
  const cache = new TokenCache();
  const revocations = new Revocations();
  const uncached = () => verifyText(text, keys, expected).kind === 'good';
  const cached = () => {
    const verified = cache.verify(text, keys, expected);
    return (
      verified.kind === 'good' &&
      refusedNow(verified.claims, now * 1000, (of) => revocations.isRevoked(of)) === undefined
    );
  };
  const one = () => verify(null, Buffer.from(signed), publicKey, signature);
  const times: TokenTimes[] = [];
  for (let round = 0; round <= rounds; round++) {
    const found = { bare: timed(one, 2_000), uncached: timed(uncached, 2_000), cached: timed(cached, 20_000) };
    // The first round is compiled while it runs.
    if (round > 0) times.push(found);
  }
  return times;
}

function timed(run: () => boolean, times: number): number {
  const beganMs = performance.now();
  for (let n = 0; n < times; n++) if (!run()) throw new Error('a good token was refused');
  return ((performance.now() - beganMs) * 1000) / times;
}

function claimsAt(now: number, issuer: string): TokenClaims {
  return {
    ...{ issuer, audience: [issuer, 'c1'], issuedAt: now, notBefore: now, expires: now + 3_600, id: 'jti' },
    ...{ subjectUid: 'uid-alice', subjectKind: 'user', subjectName: 'alice', keyUid: 'uid-key', keyName: 'ci' },
    ...{ generation: 3, groups: ['devs'], isAdministrator: false, clusters: ['c1'], projects: { shop: 'user' } },
    ...{ spaces: ['c1/shop/s1/shop-s1'] },
    ...{ scopes: [{ clusters: [{ cluster: 'c1' }] }], networks: undefined },
  };
}

answerCommands<ProxyCommand>(answer);
