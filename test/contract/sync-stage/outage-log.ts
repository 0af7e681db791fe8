// What the log says while an API server cannot be used: that it is so, and not the same line all the time.
import { describe, expect, it } from 'vitest';
import { makeAuthority } from '../../../src/apiserver/tls/certificates.ts';
import type { Interference, Interferer } from '../interferer.ts';
import { interferedStageForEach } from '../stage-for-each.ts';
import { type Side, type SyncBackend, sides } from './backend.ts';
import type { LiveDaemon } from './daemon.ts';
import { type SyncStage, subsetsOf } from './stage.ts';

const outageMs = 30_000;
/** Of one sentence about one thing, in half a minute: at the start, and what changes while the server goes. */
const mostLines = 4;

const refusal = (code: number, reason: string, headers: Record<string, string> = {}): Interference => ({
  status: code,
  body: { kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, code, message: reason },
  headers,
});

interface Behind {
  interferer: Interferer;
  daemon: LiveDaemon;
  side: Side;
  kubeconfig: (server: { url: string; caPem: string }) => string;
}

/** Returns what ends the outage. */
const outages: Readonly<Record<string, (behind: Behind) => Promise<() => void>>> = {
  'closes every connection': ruled(() => 'drop'),
  'answers nothing': ruled(() => new Promise<Interference>(() => {})),
  'answers 401': ruled(() => refusal(401, 'Unauthorized')),
  'answers 403': ruled(() => refusal(403, 'Forbidden')),
  'answers 429': ruled(() => refusal(429, 'TooManyRequests', { 'retry-after': '1' })),
  'answers 500': ruled(() => refusal(500, 'InternalError')),
  'has a certificate that nobody knows': async ({ interferer, daemon, side, kubeconfig }) => {
    const { certPem } = await makeAuthority('another', new Date());
    daemon.rewrite(side, kubeconfig({ ...interferer.at, caPem: certPem }));
    return () => daemon.rewrite(side, kubeconfig(interferer.at));
  },
};

function ruled(rule: () => Interference | Promise<Interference>) {
  return async ({ interferer }: Behind) => {
    interferer.rule = rule;
    return () => {
      interferer.rule = () => 'pass';
    };
  };
}

export function outageLogSuite(backend: () => SyncBackend): void {
  describe('the log during an outage', () => {
    let stage: SyncStage;
    const interferers = interferedStageForEach(backend, (made) => {
      stage = made;
    });

    it.each(sides)('of the %s says each thing once, however the server fails', async (side) => {
      const interferer = await interferers.before(backend()[side]);
      const kubeconfig = (server: { url: string; caPem: string }) => backend()[side].kubeconfig(server);
      for (const name of ['one', 'two']) await stage.pair({ name });
      const daemon = await stage.daemon({
        ...{ via: { [side]: interferer.at }, logLevel: 'info' },
        config: { hostward: { leaderElection: 'always', endpointSlices: { enabled: true } } },
      });
      let edits = 0;
      for (const [name, begin] of Object.entries(outages)) {
        daemon.logged.length = 0;
        const end = await begin({ interferer, daemon, side, kubeconfig });
        interferer.cut();
        if (side === 'host') await stage.editTenants('one', { subsets: subsetsOf(`10.0.1.${++edits}`) });
        await daemon.clock.jump(outageMs);
        const lines = Map.groupBy(daemon.logged, aboutWhat);
        const tooMany = [...lines].filter(([, same]) => same.length > mostLines);
        expect({ name, tooMany: tooMany.map(([what, same]) => `${same.length} of ${what}`) }).toEqual({
          ...{ name, tooMany: [] },
        });
        expect({ name, isTold: lines.size > 0 }).toEqual({ name, isTold: true });
        end();
        interferer.cut();
        await daemon.clock.jump(30_000);
        await daemon.settled();
      }
    });
  });
}

/** A line without what differs from one to the next. */
function aboutWhat({ msg, ...fields }: LiveDaemon['logged'][number]): string {
  const about = ['cluster', 'resource', 'namespace', 'lease', 'key', 'kind'].map((name) => fields[name]);
  return [msg, ...about.filter((value) => value !== undefined)].join(' ');
}
