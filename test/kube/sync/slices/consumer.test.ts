// How late does a data plane see a change? A consumer in Go, with client-go's informer and kube-proxy's EndpointsChangeTracker, reads
// the host while a tenant makes 200 changes a second: of slices, which the daemon writes, and of Endpoints, which the host's
// mirroring controller turns into slices. The wait counts from the answer to the tenant. With HOSTWARD_CONSUMER_SECONDS the test
// takes that long, wants the figure, and first writes as many changes straight to the host, to tell how much of the wait is the
// machine's; without it, the test wants every last change and only reports the figure.
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hostNamespace, until } from '../../../contract/sync-stage/backend.ts';
import { SyncStage, subsetsOf } from '../../../contract/sync-stage/stage.ts';
import { kubeAssets } from '../../start/assets.ts';
import { type RealBackend, startRealBackend } from '../sync-backend.ts';

const assets = kubeAssets();
const program = join(assets.found?.folder ?? '', 'slice-consumer');
const given = process.env['HOSTWARD_CONSUMER_SECONDS'];
const seconds = Number(given ?? 3);
const perSecond = 200;
const objects = 100;
/** The wait that a data plane may have at p99, on a machine with nothing else to do. */
const wantedMs = 100;
function missing(): string | undefined {
  if (assets.found === undefined) return assets.reason;
  try {
    accessSync(program, constants.X_OK);
    return undefined;
  } catch {
    return `slice-consumer not found in "${assets.found.folder}": run "bash test/kube/build.sh"`;
  }
}

const reason = missing();

describe.skipIf(reason !== undefined)(
  `a consumer of slices${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  () => {
    let backend: RealBackend;
    let stage: SyncStage;
    let consumer: ChildProcess;
    /** Address → when the consumer had it, in milliseconds since 1970. */
    const seenMs = new Map<string, number>();

    beforeAll(async () => {
      // Only what the figures are about: no other controllers, and no line of an audit log for each request.
      const controllers = 'endpoints-controller,endpointslice-controller,endpointslice-mirroring-controller';
      backend = await startRealBackend({
        controllerManagerFlags: ['--kube-api-qps=1000', '--kube-api-burst=1000', `--controllers=${controllers}`],
        isAudited: false,
      });
      stage = new SyncStage(backend);
      await stage.set();
      consumer = spawn(program, ['-kubeconfig', backend.host.cluster.kubeconfigPath, '-namespace', hostNamespace]);
      if (consumer.stdout === null || consumer.stderr === null) throw new Error('the consumer has no output');
      createInterface(consumer.stdout).on('line', (line) => {
        const [micros, address = ''] = line.split(' ');
        seenMs.set(address, Number(micros) / 1000);
      });
      let said = '';
      consumer.stderr.on('data', (part) => {
        said += part;
      });
      await until('a consumer in step', () => said.includes('synced') || undefined);
    }, 180_000);

    afterAll(async () => {
      consumer?.kill();
      await stage?.clear();
      stage?.close();
      await backend?.stop();
    }, 60_000);

    const begin = async (kind: 'slices' | 'endpoints'): Promise<void> => {
      const names = Array.from({ length: objects }, (_, at) => `${kind}-${at}`);
      for (const name of names) {
        if (kind === 'endpoints') await stage.pair({ name });
        else await stage.service({ name });
        if (kind === 'slices') await stage.create('virtual', 'endpointslices', sliceOf(name) as never);
      }
      await stage.daemon({ logLevel: 'info', config: { hostward: { endpointSlices: { enabled: true } } } });
    };
    const sliceOf = (name: string) => ({
      metadata: { namespace: stage.tenant, name, labels: { 'kubernetes.io/service-name': name } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'] }],
      ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
    });

    /** Each change gives one object an address that no other change has. */
    const measure = async (
      kind: 'slices' | 'endpoints' | 'bare',
      second: number,
    ): Promise<{ p50: number; p99: number; seen: number; sent: number; rate: number }> => {
      const sentMs = new Map<string, number>();
      const answers: Promise<unknown>[] = [];
      const startMs = Date.now();
      for (let at = 0; at < seconds * perSecond; at++) {
        const dueMs = startMs + (at * 1000) / perSecond;
        const waitMs = dueMs - Date.now();
        if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
        const address = `10.${second}.${1 + (at >> 8)}.${at & 255}`;
        const name = `${kind}-${at % objects}`;
        const change =
          kind === 'endpoints'
            ? stage.editTenants(name, { subsets: subsetsOf(address) })
            : stage.patch(kind === 'bare' ? 'host' : 'virtual', 'endpointslices', {
                namespace: kind === 'bare' ? hostNamespace : stage.tenant,
                name,
                mergePatch: { endpoints: [{ addresses: [address] }] },
              });
        sentMs.set(address, Number.NaN);
        answers.push(change.then(() => sentMs.set(address, Date.now())));
      }
      await Promise.all(answers);
      const rate = (seconds * perSecond) / ((Date.now() - startMs) / 1000);
      // The last address of each object must arrive; an earlier one may have been overtaken.
      const last = [...sentMs.keys()].slice(-objects);
      await until('the last changes', () => last.every((address) => seenMs.has(address)) || undefined);
      const waits = [...sentMs].flatMap(([address, ms]) => {
        const seen = seenMs.get(address);
        // The consumer may have a change before the tenant has the answer.
        return seen === undefined ? [] : [Math.max(0, seen - ms)];
      });
      waits.sort((a, b) => a - b);
      const of = (share: number): number => Math.round(waits[Math.floor((waits.length - 1) * share)] ?? Number.NaN);
      return { p50: of(0.5), p99: of(0.99), seen: waits.length, sent: sentMs.size, rate: Math.round(rate) };
    };

    const tell = (kind: string, { p50, p99, seen, sent, rate }: Awaited<ReturnType<typeof measure>>): void => {
      const load = loadavg()[0]?.toFixed(1);
      process.stdout.write(
        `consumer of ${kind}: p50 ${p50} ms, p99 ${p99} ms (wanted ${wantedMs} for slices), ${seen} of ${sent} changes seen at ${rate}/s, load ${load}\n`,
      );
    };

    it.skipIf(given === undefined)(
      'sees slices that are written straight to the host; the wait is reported',
      async () => {
        for (let at = 0; at < objects; at++) {
          const { metadata, ...slice } = sliceOf(`bare-${at}`);
          await stage.create('host', 'endpointslices', {
            ...slice,
            metadata: { ...metadata, namespace: hostNamespace },
          });
        }
        tell('bare slices', await measure('bare', 3));
      },
      120_000,
    );

    it('sees the last state of every slice that the daemon writes', async () => {
      await begin('slices');
      const result = await measure('slices', 1);
      tell('slices', result);
      expect(result.seen).toBeGreaterThanOrEqual(objects);
      if (given === undefined) return;
      expect(result.p99).toBeLessThanOrEqual(wantedMs);
      expect(result.rate).toBeGreaterThan(perSecond * 0.95);
    }, 120_000);

    it('sees Endpoints once the host has mirrored them; the wait is reported', async () => {
      await begin('endpoints');
      const result = await measure('endpoints', 2);
      tell('Endpoints', result);
      expect(result.seen).toBeGreaterThanOrEqual(objects);
    }, 120_000);
  },
);
