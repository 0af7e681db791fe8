// Builds the answers for /readyz and /status. In: the state of the daemon. Out: plain data. Changes nothing.
import { withShortRefusals } from '../cluster/refused-right.ts';
import type { Lease } from '../cluster/write/lease.ts';
import type { Settings } from '../config/settings/settings.ts';
import type { References } from '../sync/loop/content/references.ts';
import type { Sync } from '../sync/loop/sync.ts';
import type { OpenedPatcher } from '../sync/patch/run/open-patcher.ts';
import { placeLines } from '../sync/report/missing-place.ts';
import { joinedStatus, type ObjectStatus, objectStatus, patchedObjectStatus } from '../sync/report/object-status.ts';
import { type PublishedBeside, publishedBesideOthers } from '../sync/report/published-beside.ts';
import { areWritesWanted, joinedFacts, summed, syncStatus, verdictFacts } from '../sync/report/status.ts';
import {
  type DatedVerdict,
  outageSentence,
  type Verdict,
  type VerdictSince,
  verdictOf,
  worsened,
} from '../sync/report/verdict.ts';
import type { Clusters } from './clusters/connections.ts';
import { leaderCommand, leaderlessIn, leadershipOf, leadershipText, standbyBehindIn } from './clusters/lease.ts';
import type { Outages } from './clusters/outages.ts';
import type { RunningManagement } from './management.ts';
import { lacking, lateSentence, toMendFirst, unreadFor } from './mended-first.ts';
import type { Readiness, ReadinessPart } from './operations/operations-server.ts';
import type { DaemonOptions } from './options/daemon-options.ts';
import type { RunningPatches } from './synced/patches.ts';
import type { RunningKind } from './synced/running-kind.ts';
import type { OpenedWindow } from './synced/windows.ts';

export interface DaemonView {
  options: DaemonOptions;
  settings: Settings;
  phase: 'new' | 'starting' | 'running' | 'stopped';
  startedMs: number;
  clusters: Clusters;
  windows: readonly OpenedWindow[];
  /** Undefined until both clusters are reached, and while the switch is off. */
  sync: Sync | undefined;
  slices: Pick<RunningKind, 'sync' | 'missingVerbs' | 'notServed'>;
  lease: Lease | undefined;
  references: References;
  patches: RunningPatches;
  outages: Outages;
  management: RunningManagement;
  since: VerdictSince;
  /** What looks wrong around the copies, in sentences. */
  warnings: readonly string[];
  /** Why a valid new configuration is not in force. */
  notApplied?: string | undefined;
  /** A new configuration is being taken over. */
  isChanging?: boolean;
}

/** Whether there is nothing but the management API. */
export function isManagementAlone({ virtualClusterName, management }: Settings): boolean {
  return virtualClusterName === '' && management !== undefined;
}

export function syncs(settings: Settings): boolean {
  return (settings.endpointsEnabled || settings.endpointSlices.enabled) && !isManagementAlone(settings);
}

/** The daemon is ready when every part is ready. */
export function readinessOf(view: DaemonView): Readiness {
  const management = view.management.readiness(view.settings);
  const parts = [
    ...(isManagementAlone(view.settings) ? [] : [syncReadiness(view)]),
    ...(management === undefined ? [] : [management]),
  ];
  return { isReady: parts.every(({ isReady }) => isReady), lines: parts.flatMap(({ lines }) => lines), parts };
}

function syncReadiness(view: DaemonView): ReadinessPart {
  const name = 'sync';
  const { settings, phase, sync, slices, clusters, outages, patches } = view;
  if (!syncs(settings)) return { name, isReady: phase === 'running', lines: ['sync: switched off'] };
  const hasBegun = hasBegunAll(view);
  const unwritable = outages.unwritable();
  return {
    name,
    isReady: hasBegun && unwritable.length === 0 && !clusters.areInDoubt,
    lines: [
      `sync: ${hasBegun ? 'first lists are in' : `waiting for the ${waitsFor(view)}`}`,
      ...clusters.troubles,
      ...view.warnings,
      ...outages.windowLines(),
      ...[...outages.shut(), ...unwritable].map((one) => withShortRefusals(outageSentence(one))),
      ...notTaken(view),
      `leadership: ${leadershipText(view.lease, view.options)}`,
      ...(hasBegun && (sync ?? slices.sync) !== undefined ? placeLines((sync ?? slices.sync) as Sync) : []),
      ...lacking(slices).map((sentence) => `endpointslices: ${sentence}`),
      ...patches.troubles,
    ],
  };
}

/** Slices whose verbs are missing, or that a cluster does not serve, are not waited for: Endpoints go on without them. */
function hasBegunAll({ settings, sync, slices, clusters }: DaemonView): boolean {
  if (clusters.connections === undefined) return false;
  const isWaiting = settings.endpointSlices.enabled && lacking(slices).length === 0 && slices.sync?.isReady !== true;
  return !isWaiting && (!settings.endpointsEnabled || sync?.isReady === true);
}

/** The syncs of the kinds that are switched on. */
export function syncsOf({ sync, slices }: Pick<DaemonView, 'sync' | 'slices'>): Sync[] {
  return [sync, slices.sync].filter((one) => one !== undefined);
}

export function readySyncs(view: Pick<DaemonView, 'sync' | 'slices'>): Sync[] {
  return syncsOf(view).filter((sync) => sync.isReady);
}

/** A standby leaves its failed writes to the leader, unless the standby cannot reach the lease on the host. */
export function wantsWrites({ sync, lease }: Pick<DaemonView, 'sync' | 'lease'>): boolean {
  const isRelieved = lease?.state.kind === 'standby' && lease.state.trouble === undefined;
  return sync !== undefined && !isRelieved && areWritesWanted(sync);
}

function waitsFor({ clusters }: DaemonView): string {
  return clusters.connections === undefined ? 'clusters' : 'first lists';
}

export function statusOf(view: DaemonView): unknown {
  const { clusters, sync, slices, patches } = view;
  const { clock, version, isDryRun } = view.options;
  const { virtualClusterName, hostNamespace, namespaces } = view.settings;
  const references = view.references.status();
  const [outages, missingRights] = [view.outages.current(), view.outages.missingRights()];
  const management = view.management.status();
  if (isManagementAlone(view.settings)) return aloneStatus(view, management);
  return {
    verdict: sinceWhen(view, verdict(view, management?.troubles)),
    ...(view.notApplied !== undefined && { newConfigurationNotTakenOver: view.notApplied }),
    version,
    virtualCluster: virtualClusterName,
    hostNamespace,
    names: namespaces.enabled ? 'mapped namespaces' : 'single namespace',
    isDryRun,
    isReady: readinessOf(view).isReady,
    leadership: leadershipOf(view.lease, view.options),
    uptimeSeconds: Math.round((clock.now() - view.startedMs) / 1000),
    clusters: clusters.versions,
    ...addressesOf(view),
    ...(clusters.troubles.length > 0 && { waitingFor: clusters.troubles }),
    ...(outages.length > 0 && { outages }),
    ...(missingRights.length > 0 && { missingRights }),
    ...(sync && syncStatus(sync)),
    ...((slices.sync || lacking(slices).length > 0) && {
      endpointSlices: {
        ...(slices.missingVerbs.length > 0 && { missingVerbs: slices.missingVerbs }),
        ...(slices.notServed.length > 0 && { notServed: slices.notServed }),
        ...(slices.sync && { ...syncStatus(slices.sync), ...publishedTwice(slices.sync) }),
        ...(patches.current?.others && { patches: patchRows(patches.current.others) }),
      },
    }),
    ...(references && { references }),
    ...(patches.current && { patches: patchRows(patches.current), sandbox: patches.sandbox }),
    ...(management && { management }),
    windows: view.windows.map(({ name, window }) => ({
      window: name,
      state: window.state,
      objects: window.size,
      heardSecondsAgo: Math.round((clock.now() - window.lastHeardMs) / 100) / 10,
      ...(window.proof.provenAtMs !== undefined && {
        provenSecondsAgo: Math.round((clock.now() - window.proof.provenAtMs) / 100) / 10,
      }),
      ...(window.proof.missed > 0 && { missedChanges: window.proof.missed }),
      // The full message of a server that refuses is shown once, with the missing right.
      ...(window.trouble && { trouble: withShortRefusals(window.trouble.message) }),
    })),
  };
}

/** Each patch with its path, by which a person knows it. */
function patchRows({ patcher, counts }: Pick<OpenedPatcher, 'patcher' | 'counts'>): object[] {
  const paths = new Map(patcher.set.patches.map(({ index, entry }) => [index, entry.path]));
  return counts.totals().map(({ patch, ...sums }) => ({ patch, path: paths.get(patch), ...sums }));
}

/** Both sets of addresses reach consumers, as in one cluster; a tenant may not have meant it. */
function publishedTwice(slices: Sync): { publishedBeside?: readonly PublishedBeside[] } {
  const publishedBeside = publishedBesideOthers(slices);
  return publishedBeside.length > 0 ? { publishedBeside } : {};
}

/** Without a sync there are no clusters, names and windows to report. */
function aloneStatus(view: DaemonView, management: ReturnType<RunningManagement['status']>): object {
  const { clock, version, isDryRun } = view.options;
  const { isReady, lines } = readinessOf(view);
  const serves = isReady ? 'the management API is serving' : lines.join('; ');
  const late = lateSentence(view);
  const more = [...(late === undefined ? [] : [late]), ...(management?.troubles ?? [])];
  const state = isReady ? 'serving' : 'notReady';
  const plain = { state, isWell: isReady, sentence: serves, parts: [{ name: state, text: serves }] } as const;
  return {
    verdict: sinceWhen(view, worsened(plain, more)),
    ...(late !== undefined && { newConfigurationNotTakenOver: late }),
    version,
    isDryRun,
    isReady,
    uptimeSeconds: Math.round((clock.now() - view.startedMs) / 1000),
    ...(management && { management }),
  };
}

function sinceWhen({ since, options }: DaemonView, said: Verdict): DatedVerdict {
  return since.note(said, options.clock.wallTime());
}

/** To be called each second, so that the time of a change is known although nobody asked. */
export function noteVerdict(view: DaemonView): void {
  if (isManagementAlone(view.settings)) statusOf(view);
  else sinceWhen(view, verdict(view, view.management.status()?.troubles));
}

function verdict(view: DaemonView, troubles: readonly string[] = []): Verdict {
  const { settings, slices, clusters, lease, options, startedMs } = view;
  const { clock } = options;
  const hasBegun = hasBegunAll(view);
  const agoMs = clock.now() - startedMs;
  const sinceStart = () => ({
    since: new Date(clock.wallTime().getTime() - agoMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    seconds: Math.round(agoMs / 100) / 10,
  });
  const unreached = clusters.unreached.map((one) => ({ ...one, kind: 'unreachable' as const, ...sinceStart() }));
  const facts = joinedFacts(hasBegun ? readySyncs(view).map(verdictFacts) : []);
  const missingRights = view.outages.missingRights();
  const result = verdictOf({
    ...facts,
    gaps: hasBegun ? summed(facts.gaps, view.references.gaps) : facts.gaps,
    isSwitchedOff: !syncs(settings),
    waitsFor: hasBegun ? undefined : `the ${waitsFor(view)}`,
    outages: [...unreached, ...view.outages.current()],
    standbyBehind: standbyBehindIn(lease, clock),
    leaderCommand: leaderCommand(lease, options),
    leaderless: leaderlessIn(lease, clock),
    toMendFirst: toMendFirst({
      notTaken: notTaken(view),
      missingRights,
      unsynced: { kinds: 'EndpointSlices', sentences: lacking(slices) },
      late: lateSentence(view),
    }),
    unread: unreadFor(missingRights, lacking(slices)),
    isDryRun: options.isDryRun,
  });
  return worsened(result, [...foundLies(view), ...view.warnings, ...troubles]);
}

/** Why what a kubeconfig names is not in use. */
function notTaken({ clusters }: DaemonView): string[] {
  return clusters.addresses.flatMap(({ cluster, notTaken: why }) => (why ? `${cluster} cluster: ${why}` : []));
}

/** The servers whose address has changed since the start: taken over, or not and why. */
function addressesOf({ clusters }: DaemonView): { addresses?: object } {
  const changed = clusters.addresses.filter(({ takenAt, notTaken: why }) => takenAt !== undefined || why !== undefined);
  if (changed.length === 0) return {};
  const addresses = changed.map(({ cluster, server, takenAt, notTaken: why, isUnread }) => ({
    cluster,
    server,
    ...(takenAt && { takenAt: takenAt.toISOString() }),
    ...(why !== undefined && { notTaken: why }),
    ...(isUnread && { isUnread }),
  }));
  return { addresses };
}

/** A list that waits for a second one shows in the objects that wait; only a list that proved wrong needs a person. */
function foundLies({ references, sync, slices }: DaemonView): string[] {
  const doubts = [...syncsOf({ sync, slices }).flatMap(({ massDelete }) => massDelete.doubts), ...references.doubts];
  return [...new Set(doubts.filter(({ isLie }) => isLie).map(({ message }) => message))];
}

/** Returns a promise when the answer needs the object's patches to run. */
export function objectStatusOf(
  ready: readonly Sync[],
  key: string,
  contents: Parameters<typeof joinedStatus>[1],
): unknown {
  const joined = (found: readonly (ObjectStatus | undefined)[]) => joinedStatus(found, contents);
  if (ready.every(({ world }) => !world.rules.isPatched)) return joined(ready.map((sync) => objectStatus(sync, key)));
  return Promise.all(ready.map((sync) => patchedObjectStatus(sync, key))).then(joined);
}
