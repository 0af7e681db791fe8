// Finds the host namespaces in which a former mapping has left copies of ours, so that they are watched like those that mappings
// name now, and the copies removed as strays. In: the windows that watch namespaces by their names, and the host. Out: more
// namespaces for these windows, and sentences about copies that this daemon may not remove. It must never change the host.
import type { Clock, Timer } from '../../clock.ts';
import type { Permission } from '../../cluster/permission.ts';
import { listPages } from '../../cluster/window/list-pages.ts';
import type { Connection } from '../../cluster/wire/connection.ts';
import { checkPermissions } from '../../cluster/wire/probe.ts';
import { apiVersionOf, type ResourceRef } from '../../cluster/wire/scope.ts';
import type { Settings } from '../../config/settings/settings.ts';
import type { Log } from '../../log.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { counted } from '../../object/text/in-words.ts';
import { backOffMs } from '../../pace/back-off.ts';
import { instanceKey, markerLabel } from '../../sync/plan/keys/reserved-keys.ts';

/** The host is probably unwell, and the windows tell of it; what was left behind is not urgent. */
const retry = { firstMs: 2_000, mostMs: 60_000 };
/** People grant a missing verb, or delete the copies, so a look a minute is enough. */
const askAgainMs = 60_000;

/** A host window of one kind, opened on the namespaces that mappings name. */
export interface NamedWindow {
  ref: ResourceRef;
  namespaces: readonly string[];
  isStopped: () => boolean;
  /** Shows our copies in one more namespace. */
  watch(namespace: string): void;
}

export interface StrayNamespacesOptions {
  settings: Pick<Settings, 'hostNamespace' | 'virtualClusterName' | 'namespaces'>;
  clock: Clock;
  log: Log;
  isDryRun: boolean;
  host: () => Connection | undefined;
}

/**
 * Whether the copy is of this very virtual cluster, and not of another one of the same name: those that a mapping has put somewhere say
 * so; the own namespace has no other's.
 */
export function isOfInstance(
  { metadata }: KubeObject,
  { hostNamespace, virtualClusterName }: Pick<Settings, 'hostNamespace' | 'virtualClusterName'>,
): boolean {
  if (metadata.labels?.[markerLabel] !== virtualClusterName) return false;
  return (
    metadata.namespace === hostNamespace ||
    metadata.annotations?.[instanceKey] === `${hostNamespace}/${virtualClusterName}`
  );
}

type Search =
  | { kind: 'found'; counts: ReadonlyMap<string, number> }
  | { kind: 'forbidden'; message: string }
  | { kind: 'failed'; message: string };

/** What is known of one window. */
interface Searched {
  watched: Set<string>;
  sentences: readonly string[];
  timer?: Timer;
  isLooking: boolean;
  /** A further look was asked for while one was under way. */
  isDue: boolean;
}

export class StrayNamespaces {
  readonly #options: StrayNamespacesOptions;
  readonly #searched = new Map<NamedWindow, Searched>();
  readonly #stopping = new AbortController();

  constructor(options: StrayNamespacesOptions) {
    this.#options = options;
  }

  /** About copies that stay. */
  get sentences(): readonly string[] {
    return [...this.#searched].flatMap(([window, { sentences }]) => (window.isStopped() ? [] : sentences));
  }

  /** Does not wait for the search: what is left behind must not delay what is wanted. */
  search(window: NamedWindow): void {
    // Those of content come and go with the patches, and each holds what it has shown.
    for (const [known, { timer }] of this.#searched) {
      if (!known.isStopped()) continue;
      timer?.cancel();
      this.#searched.delete(known);
    }
    const state = { watched: new Set<string>(), sentences: [], isLooking: false, isDue: false };
    this.#searched.set(window, state);
    void this.#look(window, state, 0);
  }

  /** Called when this process becomes the leader: the one before it may have had another mapping. */
  again(): void {
    for (const [window, state] of this.#searched) {
      state.timer?.cancel();
      // Two looks at once would leave two timers, and the later one would take back what the other one says.
      if (state.isLooking) state.isDue = true;
      else void this.#look(window, state, 0);
    }
  }

  stop(): void {
    this.#stopping.abort();
    for (const { timer } of this.#searched.values()) timer?.cancel();
  }

  async #look(window: NamedWindow, state: Searched, failures: number): Promise<void> {
    if (this.#isOver(window)) return void this.#searched.delete(window);
    state.isLooking = true;
    state.isDue = false;
    const next = await this.#lookOnce(window, state, failures);
    state.isLooking = false;
    if (this.#isOver(window)) return void this.#searched.delete(window);
    if (state.isDue) return this.#look(window, state, 0);
    if (next === undefined) return;
    state.timer = this.#options.clock.after(next.afterMs, () => void this.#look(window, state, next.failures));
  }

  #isOver(window: NamedWindow): boolean {
    return this.#stopping.signal.aborted || window.isStopped();
  }

  /** When to look again, and after how many failures; undefined = not by itself. */
  async #lookOnce(
    window: NamedWindow,
    state: Searched,
    failures: number,
  ): Promise<{ afterMs: number; failures: number } | undefined> {
    const found = await this.#find(window);
    if (this.#isOver(window)) return undefined;
    const { log } = this.#options;
    const about = { component: 'main', resource: window.ref.resource };
    switch (found.kind) {
      case 'failed':
        if (failures === 0)
          log.warn({ ...about, why: found.message }, 'copies of former mappings could not be looked for');
        return { afterMs: backOffMs(failures + 1, retry), failures: failures + 1 };
      case 'forbidden':
        // Without a mapping nearly nobody has had one, and no daemon has the right.
        log[this.#options.settings.namespaces.enabled ? 'info' : 'debug'](
          { ...about, why: found.message },
          'copies that a former mapping left in other host namespaces are not looked for',
        );
        return undefined;
      case 'found':
        state.sentences = await this.#take(window, found.counts, state.watched);
        for (const warning of state.sentences) log.warn({ ...about, warning }, 'this looks wrong');
        return state.sentences.length > 0 ? { afterMs: askAgainMs, failures: 0 } : undefined;
      default:
        return found satisfies never;
    }
  }

  /** Checks the permission first, because a refused request looks like an attack in the audit log of the host. */
  async #find({ ref, namespaces }: NamedWindow): Promise<Search> {
    const { host: hostOf, settings } = this.#options;
    const host = hostOf();
    if (host === undefined) return { kind: 'failed', message: 'the host is not reached yet' };
    const { hostNamespace, virtualClusterName } = settings;
    const [refused] = await checkPermissions(host, [rightTo('list', ref, undefined)]);
    const isOwnNamed = namespaces.includes(hostNamespace);
    if (refused !== undefined && isOwnNamed) return { kind: 'forbidden', message: refused.message };
    // With mappingsOnly the own namespace takes no copies any more, and the shipped Role still grants it.
    const namespace = refused === undefined ? undefined : hostNamespace;
    if (namespace !== undefined) {
      const [refusedToo] = await checkPermissions(host, [rightTo('list', ref, namespace)]);
      if (refusedToo !== undefined) return { kind: 'forbidden', message: refusedToo.message };
    }
    const counts = new Map<string, number>();
    const accept = (object: KubeObject): void => {
      const { namespace: at = '' } = object.metadata;
      if (!namespaces.includes(at) && isOfInstance(object, settings)) counts.set(at, (counts.get(at) ?? 0) + 1);
    };
    const scope = { ref, namespace, labelSelector: `${markerLabel}=${virtualClusterName}`, fieldSelector: undefined };
    const { signal } = this.#stopping;
    const listed = await listPages({ connection: host, scope, signal, page: () => {}, accept });
    if (listed.kind === 'listed') return { kind: 'found', counts };
    if (listed.kind === 'aborted') return { kind: 'failed', message: listed.kind };
    if (listed.kind !== 'failed') return { kind: 'failed', message: listed.message };
    const { answer } = listed;
    const message = answer.kind === 'notSent' ? answer.kind : answer.message;
    return { kind: answer.kind === 'forbidden' ? 'forbidden' : 'failed', message };
  }

  /** Watches what it may, and returns a sentence for each other namespace. */
  async #take(window: NamedWindow, counts: ReadonlyMap<string, number>, watched: Set<string>): Promise<string[]> {
    const host = this.#options.host();
    const sentences: string[] = [];
    const verbs = ['get', 'list', 'watch', ...(this.#options.isDryRun ? [] : (['delete'] as const))] as const;
    for (const [namespace, count] of counts) {
      if (watched.has(namespace) || host === undefined) continue;
      const missing = await checkPermissions(
        host,
        verbs.map((verb) => rightTo(verb, window.ref, namespace)),
      );
      if (this.#isOver(window)) return sentences;
      if (missing.length > 0) {
        const lacking = missing.flatMap(({ permission }) => permission?.verb ?? []);
        sentences.push(this.#sentence(window, { namespace, count, lacking }));
        continue;
      }
      const about = { component: 'main', resource: window.ref.resource, namespace, copies: count };
      this.#options.log.info(about, 'a former mapping has left copies here, which are removed');
      watched.add(namespace);
      window.watch(namespace);
    }
    return sentences;
  }

  #sentence(
    { ref: { resource } }: NamedWindow,
    { namespace, count, lacking }: { namespace: string; count: number; lacking: readonly string[] },
  ): string {
    const { hostNamespace, virtualClusterName } = this.#options.settings;
    const left = `a former mapping has left ${counted(count, 'copy', 'copies')} (${resource}) in host namespace "${namespace}", and this daemon lacks the right to ${lacking.join(', ')} ${resource} there`;
    return `${left}; grant it, or delete those whose annotation ${instanceKey} is ${hostNamespace}/${virtualClusterName}`;
  }
}

function rightTo(verb: Permission['verb'], ref: ResourceRef, namespace: string | undefined): Permission {
  const [group = '', version] = apiVersionOf(ref).split('/');
  return { verb, group: version === undefined ? '' : group, resource: ref.resource, namespace };
}
