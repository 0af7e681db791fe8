// Opens the lease that lets only one of several replicas write, and the writers. In: settings and connections. Out: the lease,
// with its object name and the identity of this process, and one writer for each cluster.
import type { Clock } from '../../clock.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { type Lease, openLease } from '../../cluster/write/lease.ts';
import { openWriter } from '../../cluster/write/open-writer.ts';
import type { Writer } from '../../cluster/write/writer.ts';
import type { Settings } from '../../config/settings/settings.ts';
import { shellWord } from '../../safe-text.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import type { Outages } from './outages.ts';

const toldAfterMs = 5_000;

export function openDaemonLease(options: DaemonOptions, host: Connection): Lease {
  const { clock, random, log, metrics, environment, settings } = options;
  const { hostNamespace, leaseDurationSeconds } = settings;
  const name = environment['POD_NAME'] ?? environment['HOSTNAME'] ?? 'hostward';
  const identity = `${name}_${Math.floor(random() * 0xffffffffffff)
    .toString(16)
    .padStart(12, '0')}`;
  return openLease({
    connection: host,
    namespace: hostNamespace,
    name: leaseNameOf(settings),
    identity,
    leaseMs: leaseDurationSeconds * 1000,
    clock,
    random,
    log,
    metrics,
  });
}

export function leaseNameOf({ virtualClusterName }: Settings): string {
  return `hostward-${virtualClusterName}`;
}

/** One writer for each cluster, shared by all kinds, so that the limits hold for all of them together. */
export function openWriters(
  { clock, random, log, metrics }: Pick<DaemonOptions, 'clock' | 'random' | 'log' | 'metrics'>,
  { virtual, host }: { virtual: Connection; host: Connection },
  how: { permit: () => boolean; outages: Outages; maxWritesPerSecond: number | undefined },
): { virtualWriter: Writer; hostWriter: Writer } {
  const { permit, outages, maxWritesPerSecond } = how;
  const shared = { clock, random, log, metrics, permit, fieldManager: 'hostward' };
  return {
    virtualWriter: openWriter({
      ...shared,
      connection: virtual,
      onAnswer: (...about) => outages.writes.virtual.note(...about),
    }),
    hostWriter: openWriter({
      ...shared,
      connection: host,
      onAnswer: (...about) => outages.writes.host.note(...about),
      ...(maxWritesPerSecond !== undefined && { maxWritesPerSecond }),
    }),
  };
}

export function needsLease({ leaderElection, replicas }: Settings, isDryRun: boolean): boolean {
  if (isDryRun) return false;
  return leaderElection === 'always' || (leaderElection === 'auto' && replicas > 1);
}

/** Why the lease can neither be read nor renewed; one look that fails is no news. */
function leaseTrouble(lease: Lease | undefined, clock: Clock): string | undefined {
  if (lease?.state.kind !== 'standby' || lease.state.troubleSinceMs === undefined) return undefined;
  return clock.now() - lease.state.troubleSinceMs >= toldAfterMs ? lease.state.trouble : undefined;
}

/** Who writes instead of this process: somebody whose lease can be read, and who has renewed it since this process started. */
export function standbyBehindIn(lease: Lease | undefined, clock: Clock): string | undefined {
  if (lease?.state.kind !== 'standby' || leaseTrouble(lease, clock) !== undefined) return undefined;
  return lease.state.isRenewed ? lease.state.holder : undefined;
}

/** Why this process writes nothing although nobody is known to write instead. */
export function leaderlessIn(lease: Lease | undefined, clock: Clock): string | undefined {
  if (lease?.state.kind !== 'standby' || standbyBehindIn(lease, clock) !== undefined) return undefined;
  const { holder, trouble } = lease.state;
  const told = holder === undefined ? trouble : leaseTrouble(lease, clock);
  if (told !== undefined) return `the lease cannot be read or renewed: ${told}`;
  return holder === undefined
    ? 'this process waits for the lease'
    : `this process waits for the lease of ${holder}, which has not been renewed since this process started`;
}

/** For people. A standby behind nobody would look like every other one, and nothing is written. */
export function leadershipText(lease: Lease | undefined, options: Pick<DaemonOptions, 'clock' | 'isDryRun'>): string {
  const leaderless = leaderlessIn(lease, options.clock);
  return `${leadershipOf(lease, options)}${leaderless === undefined ? '' : `; ${leaderless}`}`;
}

/** Leads to the page of the replica that writes; in a pod its identity begins with the name of the pod. */
export function leaderCommand(
  lease: Lease | undefined,
  { clock, environment, settings }: Pick<DaemonOptions, 'clock' | 'environment' | 'settings'>,
): string | undefined {
  const leader = standbyBehindIn(lease, clock);
  if (leader === undefined || !environment['KUBERNETES_SERVICE_HOST']) return undefined;
  const pod = leader.replace(/_[^_]*$/, '');
  const port = settings.listen.split(':').at(-1) as string;
  return `kubectl -n ${shellWord(settings.hostNamespace)} port-forward ${shellWord(`pod/${pod}`)} ${port}`;
}

export function leadershipOf(lease: Lease | undefined, { isDryRun }: Pick<DaemonOptions, 'isDryRun'>): string {
  if (lease === undefined) return isDryRun ? 'none (dry run)' : 'alone';
  const { state } = lease;
  return state.kind === 'standby' ? `standby${state.holder ? ` behind ${state.holder}` : ''}` : state.kind;
}
