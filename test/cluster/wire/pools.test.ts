import type { buildConnector } from 'undici';
import { afterEach, expect, it } from 'vitest';
import type { ClusterAccess } from '../../../src/cluster/credentials/access.ts';
import { Pools } from '../../../src/cluster/wire/pools.ts';
import { silentLog } from '../../../src/log.ts';
import { VirtualClock } from '../../virtual-clock.ts';

const seen: { cert?: unknown; secureContext?: unknown }[] = [];
const connector = (tls: buildConnector.BuildOptions): buildConnector.connector => {
  seen.push(tls as (typeof seen)[number]);
  return (_, done) => done(new Error('no network'), null);
};
const access = (cert?: string): ClusterAccess =>
  ({ server: 'https://127.0.0.1:1', from: 'files', tls: { rejectUnauthorized: true, ...(cert && { cert }) } }) as never;
const pools = new Pools({ name: 'host', clock: new VirtualClock(), log: silentLog, connector });
afterEach(() => {
  seen.length = 0;
  return pools.close();
});

it('all connections to a server share its certificates, which take a millisecond to read', () => {
  pools.of(access());
  expect(seen).toHaveLength(2);
  expect(seen[0]?.secureContext).toBeDefined();
  expect(seen[1]?.secureContext).toBe(seen[0]?.secureContext);
});

it('certificates that cannot be read are told of by the first connection', () => {
  pools.of(access('no certificate'));
  expect(seen.map(({ cert, secureContext }) => [cert, secureContext])).toEqual([
    ['no certificate', undefined],
    ['no certificate', undefined],
  ]);
});
