// Looks once a minute at what must be around the copies on the host, and every two seconds while something is wrong: a namespace that
// takes them, a Service that has the name of the virtual cluster, no second daemon. In: settings and the host. Out: one sentence for each
// thing that looks wrong, in readiness as long as it is so and in the log when it begins and ends. Never stops a daemon: what stops one is found at its start, in checks.ts.
import type { Timer } from '../../clock.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkNamespace, type FoundNamespace } from '../../cluster/wire/probe.ts';
import { objectPath, servicesResource } from '../../cluster/wire/scope.ts';
import { LeaseObject, recordOf } from '../../cluster/write/lease-object.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { DaemonOptions } from '../options/daemon-options.ts';
import { leaseNameOf, needsLease } from './lease.ts';

/** Somebody who looks for the reason of a wrong copy looks for longer than this. */
const lookMs = 60_000;
/** A person who mends what a sentence says reads it again at once, and a namespace that was being deleted is gone in a moment. */
const wrongLookMs = 2_000;
const timeoutMs = 10_000;

/** A host that gives no answer changes nothing that is known. `instead` takes the place of what was wrong, if anything was. */
type Look = { kind: 'fine' } | { kind: 'unknown'; instead?: string } | { kind: 'wrong'; sentence: string };
const fine: Look = { kind: 'fine' };
const unknown: Look = { kind: 'unknown' };

type Given = Pick<DaemonOptions, 'clock' | 'log' | 'isDryRun'>;

export class HostWarnings {
  readonly #options: Given;
  readonly #settings: () => Settings;
  #sentences: readonly (string | undefined)[] = [];
  #timer: Timer | undefined;
  #isStopped = false;
  readonly #isSuspect: () => boolean;
  #lookedMs = 0;

  /** `isSuspect`: copies lack their namespace or their owner, so that what was found a minute ago may be over. */
  constructor(options: Given, settings: () => Settings, isSuspect: () => boolean) {
    this.#options = options;
    this.#settings = settings;
    this.#isSuspect = isSuspect;
  }

  get sentences(): readonly string[] {
    return this.#sentences.filter((one) => one !== undefined);
  }

  /** Resolves after the first look. `namespace`: as the start has just found it. */
  async start(host: Connection, namespace?: FoundNamespace): Promise<void> {
    const settings = this.#settings();
    const found = await Promise.all([
      lookAtNamespace(host, settings, namespace),
      lookAtName(host, settings),
      lookForOther(host, settings, this.#options),
    ]);
    if (this.#isStopped) return;
    this.#take(found);
    this.#lookedMs = this.#options.clock.now();
    this.#wait(host);
  }

  #wait(host: Connection): void {
    const { clock } = this.#options;
    this.#timer = clock.after(wrongLookMs, () => {
      const isDue = clock.now() - this.#lookedMs >= lookMs;
      if (isDue || this.sentences.length > 0 || this.#isSuspect()) void this.start(host);
      else this.#wait(host);
    });
  }

  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
  }

  #take(all: readonly Look[]): void {
    const { log } = this.#options;
    const before = this.#sentences;
    this.#sentences = all.map((found, at) => {
      if (found.kind === 'unknown') return before[at] && (found.instead ?? before[at]);
      return found.kind === 'wrong' ? found.sentence : undefined;
    });
    for (const [at, sentence] of this.#sentences.entries()) {
      const old = before[at];
      if (sentence === old) continue;
      if (old !== undefined) log.info({ component: 'main', warning: old }, 'this is over');
      if (sentence !== undefined) log.warn({ component: 'main', warning: sentence }, 'this looks wrong');
    }
  }
}

async function lookAtNamespace(
  host: Connection,
  { hostNamespace }: Settings,
  known: FoundNamespace | undefined,
): Promise<Look> {
  const found = known ?? (await checkNamespace(host, hostNamespace));
  if (found.kind === 'found') return fine;
  if (found.kind === 'unknown' && found.isForbidden) return { kind: 'unknown', instead: lostSentence(hostNamespace) };
  if (found.kind === 'unknown') return unknown;
  const sentence =
    found.kind === 'terminating'
      ? `host namespace "${hostNamespace}" is being deleted, so no copy can be made in it; wait for its end, or name the namespace that the virtual cluster runs in`
      : `host namespace "${hostNamespace}" does not exist any more; create it`;
  return { kind: 'wrong', sentence };
}

/** A namespace loses the Role by which it is read before it ends, so that nobody sees it go. */
function lostSentence(namespace: string): string {
  return `host namespace "${namespace}" was being deleted or missing, and this daemon can read it no longer: it is gone, or its Role is (kubectl get namespace ${namespace}); create both if it is still wanted`;
}

/** Without owners a misspelt name of the virtual cluster is no fault: copies would be made under it in addition to those of the real name. */
async function lookAtName(host: Connection, settings: Settings): Promise<Look> {
  const { virtualClusterName: name, hostNamespace: namespace, setOwner, namespaces } = settings;
  if (setOwner && !namespaces.enabled) return fine;
  const path = objectPath(servicesResource, { namespace, name });
  const { kind } = await host.request({ method: 'GET', path, timeoutMs });
  if (kind === 'ok') return fine;
  if (kind !== 'notFound') return unknown;
  const sentence = `host namespace "${namespace}" has no Service "${name}", which vCluster makes under its own name; is that the name of the virtual cluster? If not, correct --vcluster-name`;
  return { kind: 'wrong', sentence };
}

/**
 * A daemon that takes no lease writes at the same time as one that holds it: a sidecar and a Deployment, for example. Here the clocks of two
 * machines are compared, which is good enough for a sentence.
 */
async function lookForOther(host: Connection, settings: Settings, { isDryRun, clock }: Given): Promise<Look> {
  if (isDryRun || needsLease(settings, isDryRun)) return fine;
  const place = { namespace: settings.hostNamespace, name: leaseNameOf(settings) };
  const answer = await new LeaseObject({ connection: host, ...place }).read({ timeoutMs });
  if (answer.kind === 'notFound') return fine;
  if (answer.kind !== 'ok') return unknown;
  const { holderIdentity, renewTime, leaseDurationSeconds } = recordOf(answer.object);
  const endsMs = Date.parse(renewTime ?? '') + leaseDurationSeconds * 1000;
  if (holderIdentity === '' || !(endsMs > clock.wallTime().getTime())) return fine;
  const sentence = `"${holderIdentity}" holds the lease ${place.namespace}/${place.name}, and this daemon takes none (hostward.leaderElection is ${settings.leaderElection}), so two daemons may write; stop one of them, or set hostward.leaderElection to always for both`;
  return { kind: 'wrong', sentence };
}
