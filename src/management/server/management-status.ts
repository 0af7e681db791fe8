// What the management API says of itself, to `hostward status` and in metrics: its counts, what waits, and every fault that somebody must
// mend. In: the parts of an API that is open. Must never change anything.
import type { CallerLimits } from '../../apiserver/limits/caller-limits.ts';
import type { UnprovenConnections } from '../../apiserver/limits/unproven-connections.ts';
import type { ApiServer } from '../../apiserver/server.ts';
import { type Metrics, readSeries } from '../../metrics.ts';
import { andMore } from '../../object/text/in-words.ts';
import type { Kubeconfigs } from '../credentials/issue/kubeconfigs.ts';
import { timeText } from '../keys/book/stored-key.ts';
import { declareKeyMetrics } from '../keys/key-metrics.ts';
import { keysOfLeavers, type LeaversKeys, leaverSentence } from '../keys/life/leavers.ts';
import type { ManagementProxy } from '../proxy/proxy.ts';
import type { OpenParts } from './open-parts.ts';

export interface OpenManagement extends OpenParts {
  api: ApiServer;
  kubeconfigs: Kubeconfigs;
  proxy: ManagementProxy;
}

export function statusOf(open: OpenManagement, { notes, now }: { notes: readonly string[]; now: Date }) {
  const { api, audit, book, world, counts, kubeconfigs, proxy, database, followers, versions, ruling } = open;
  const store = database.shared?.status();
  const behind = [followers.trouble, versions?.trouble, ...notes].filter((trouble) => trouble !== undefined);
  const { expiringSoon, nextToEnd, ofLeavers, ...keys } = counts.read(0);
  const [certificates, proxied] = [kubeconfigs.status(), proxy.status()];
  const { upstreams = [] } = proxied;
  const { removalsWaiting } = certificates;
  const damages = [audit.damage, open.journalDamage];
  const leavers = keysOfLeavers(book.heldByOthers(), world, now.getTime());
  const others = openFaults({ removalsWaiting, upstreams, leavers, damages });
  const troubles = [...(store?.troubles ?? []), ...behind, ...others];
  return {
    url: api.url,
    ...(troubles.length > 0 && { troubles }),
    keys,
    expiringWithinSevenDays: expiringSoon,
    ...(nextToEnd.length > 0 && {
      nextKeysToEnd: nextToEnd.map(({ name, atMs }) => ({ key: name, endsAt: timeText(atMs) })),
    }),
    ofLeavers,
    watches: api.watchCount,
    certificates,
    ...(store && { store: { ...store, configuration: ruling?.status, secrets: versions?.status } }),
    ...proxied,
  };
}

export function declareMetrics(
  metrics: Metrics,
  { api, counts, failedLogins, kubeconfigs, proxy, database }: OpenManagement,
  limits: { unproven: UnprovenConnections; limits: CallerLimits },
): void {
  const [watches, proxied] = [() => api.watchCount, () => proxy.status().proxied];
  const recordsAside = () => database.shared?.status().aside ?? 0;
  declareKeyMetrics(metrics, {
    ...{ counts, watches, proxied, recordsAside },
    ...limits,
    failedLogins: () => failedLogins.count,
  });
  kubeconfigs.declareMetrics(metrics);
  const { shared } = database;
  // Beside those of the two clusters of the sync, so that one alert tells of all.
  if (shared !== undefined)
    readSeries(metrics, {
      name: 'hostward_missing_rights',
      help: 'Rights that the API server refuses, while it allows others',
      labels: { cluster: 'records' },
      read: () => shared.status().missingRights,
    });
}

interface FailedRemoval {
  /** PROJECT/NAME. */
  instance: string;
  /** Empty before the first attempt has ended. */
  trouble: string;
}

interface UpstreamFault {
  /** `cluster c1`. */
  name: string;
  missing: readonly string[];
  /** Why nothing could be asked. */
  trouble?: string;
  mend?: string;
}

/** What somebody must mend outside of the management API, in sentences for the first line of `hostward status`. Pure. */
export function openFaults(of: {
  removalsWaiting: readonly FailedRemoval[];
  upstreams: readonly UpstreamFault[];
  leavers: readonly LeaversKeys[];
  damages: readonly (string | undefined)[];
}): string[] {
  const instances = [...new Set(of.removalsWaiting.map(({ instance }) => instance))];
  return [
    ...of.damages.filter((damage) => damage !== undefined),
    ...instances.map((instance) => removalSentence(instance, of.removalsWaiting)),
    ...of.upstreams.map(lackedSentence),
    ...of.leavers.map(leaverSentence),
  ];
}

function removalSentence(instance: string, all: readonly FailedRemoval[]): string {
  const here = all.filter((each) => each.instance === instance);
  const certificates = here.length === 1 ? 'a client certificate' : `${here.length} client certificates`;
  const trouble = here.find((each) => each.trouble !== '')?.trouble;
  const because = trouble === undefined ? 'the removal is under way' : trouble;
  return `${certificates} of ended access keys may still have rights in the virtual cluster ${instance}: ${because}`;
}

function lackedSentence({ name, missing, trouble, mend }: UpstreamFault): string {
  if (trouble !== undefined) return `${name} cannot be asked for the rights of Hostward: ${trouble}`;
  const [first = '', ...others] = missing;
  const todo = mend === undefined ? '' : `; give them with: ${mend}`;
  return `Hostward lacks rights in ${name} (${first}${andMore(others.length)})${todo}`;
}
