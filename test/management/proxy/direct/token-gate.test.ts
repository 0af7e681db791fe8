// A proved token is kept so that its signature is checked once. Whether it still counts is asked at every use.
import { afterEach, describe, expect, it } from 'vitest';
import { createLog, silentLog } from '../../../../src/log.ts';
import { payloadOf } from '../../../../src/management/credentials/claims/claims.ts';
import { Revocations } from '../../../../src/management/credentials/claims/revocations.ts';
import { KnownKeys } from '../../../../src/management/proxy/direct/known-keys.ts';
import { TokenGate } from '../../../../src/management/proxy/direct/token-gate.ts';
import { VirtualClock } from '../../../virtual-clock.ts';
import { claims, issuer, keySetDocument, tokenOf } from '../../credentials/claims/token-bench.ts';

const endings: (() => unknown)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
});

async function openGate({
  spaces = [] as { project: string; name: string; namespace: string }[],
  log = silentLog,
} = {}) {
  const clock = new VirtualClock('2026-01-01T00:00:00Z');
  const revocations = new Revocations();
  const state = { fetched: 0, trouble: undefined as string | undefined };
  const keys = new KnownKeys({
    async fetch() {
      state.fetched++;
      return keySetDocument;
    },
    changed: () => gate.forgetProofs(),
    clock,
    log: silentLog,
  });
  endings.push(() => keys.stop());
  const settings = {
    ...{ listen: '127.0.0.1:0', cluster: 'c1', platform: issuer, keyFile: 'none', silence: 30, dataDir: 'none' },
    spaces,
  };
  const gate = new TokenGate({ settings, keys, revocations, trouble: () => state.trouble, clock, log });
  await keys.start();
  return { gate, clock, revocations, state };
}

describe('a token for some networks', () => {
  it('is refused from everywhere else, also where nobody knows the address, and when it was good before', async () => {
    const { gate } = await openGate();
    const token = tokenOf({ payload: payloadOf({ ...claims, networks: '10.0.0.0/8,fd00::/8' }) });
    for (const address of ['10.1.2.3', 'fd00::1']) expect(await gate.authenticate(token, address)).toBeDefined();
    for (const address of ['11.0.0.1', '127.0.0.1', 'fe80::1', undefined])
      await expect(gate.authenticate(token, address)).rejects.toThrow('the token is not valid from your address');
  });
});

it('says once that a space has another namespace at the platform', async () => {
  const lines: { msg: string }[] = [];
  const log = createLog({ level: 'warn', destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const names = ['s1', 's2', 's3'];
  const spaces = names.map((name) => ({ project: 'shop', name, namespace: `shop-${name}` }));
  const { gate } = await openGate({ spaces, log });
  for (const id of ['one', 'two']) {
    const places = ['c1/shop/s1/elsewhere', 'c1/shop/s2/shop-s2', 'c2/shop/s3/elsewhere'];
    await gate.authenticate(tokenOf({ payload: payloadOf({ ...claims, id, spaces: places }) }), '127.0.0.1');
  }
  expect(lines).toMatchObject([{ project: 'shop', space: 's1', namespace: 'shop-s1', atPlatform: 'elsewhere' }]);
});

describe('a token that was proved before', () => {
  const token = tokenOf();
  const revoked = { key: claims.keyUid, generation: claims.generation + 1, expiresMs: claims.expires * 1000 };

  it('is refused from the moment that it is revoked', async () => {
    const { gate, revocations } = await openGate();
    const holder = await gate.authenticate(token, '127.0.0.1');
    expect(await gate.authenticate(token, '127.0.0.1')).toBe(holder);
    expect(holder === undefined || gate.endOf(holder.user)).toBe(undefined);
    revocations.take(revoked);
    await expect(gate.authenticate(token, '127.0.0.1')).rejects.toThrow('create a new token');
    expect(holder && gate.endOf(holder.user)).toMatchObject({ code: 401 });
  });

  it('is refused when it was revoked before its first use, and every time again', async () => {
    const { gate, revocations } = await openGate();
    revocations.take(revoked);
    for (let time = 0; time < 3; time++)
      await expect(gate.authenticate(token, '127.0.0.1')).rejects.toThrow('create a new token');
  });

  it('is refused after its end, and while revocations may have been missed', async () => {
    const { gate, clock, state } = await openGate();
    await gate.authenticate(token, '127.0.0.1');
    state.trouble = 'the platform has sent nothing for 30 seconds';
    await expect(gate.authenticate(token, '127.0.0.1')).rejects.toThrow('no token is accepted');
    state.trouble = undefined;
    expect(await gate.authenticate(token, '127.0.0.1')).toBeDefined();
    await clock.advance(3_631_000);
    await expect(gate.authenticate(token, '127.0.0.1')).rejects.toThrow('expired');
  });
});
