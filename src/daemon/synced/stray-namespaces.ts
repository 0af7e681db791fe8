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

export class StrayNamespaces {
  readonly #options: StrayNamespacesOptions;
  readonly #searched = new Map<NamedWindow, { watched: Set<string>; sentences: readonly string[]; timer?: Timer }>();
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
    this.#searched.set(window, { watched: new Set(), sentences: [] });
    void this.#look(window, 0);
  }

  /** Called when this process becomes the leader: the one before it may have had another mapping. */
  again(): void {
    for (const [window, { timer }] of this.#searched) {
      timer?.cancel();
      void this.#look(window, 0);
    }
  }

  stop(): void {
    this.#stopping.abort();
    for (const { timer } of this.#searched.values()) timer?.cancel();
  }

  async #look(window: NamedWindow, failures: number): Promise<void> {
    const found = await this.#find(window);
    const state = this.#searched.get(window);
    if (this.#stopping.signal.aborted || window.isStopped() || state === undefined)
      return void this.#searched.delete(window);
    const { clock, log } = this.#options;
    const about = { component: 'main', resource: window.ref.resource };
    switch (found.kind) {
      case 'failed':
        if (failures === 0)
          log.warn({ ...about, why: found.message }, 'copies of former mappings could not be looked for');
        state.timer = clock.after(backOffMs(failures + 1, retry), () => void this.#look(window, failures + 1));
        return;
      case 'forbidden':
        // Without a mapping nearly nobody has had one, and no daemon has the right.
        log[this.#options.settings.namespaces.enabled ? 'info' : 'debug'](
          { ...about, why: found.message },
          'copies that a former mapping left in other host namespaces are not looked for',
        );
        return;
      case 'found': {
        state.sentences = await this.#take(window, found.counts, state.watched);
        for (const warning of state.sentences) log.warn({ ...about, warning }, 'this looks wrong');
        if (state.sentences.length > 0 && !this.#stopping.signal.aborted)
          state.timer = clock.after(askAgainMs, () => void this.#look(window, 0));
        return;
      }
      default:
        found satisfies never;
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
      // Before anything is awaited, so that two searches never open two windows.
      watched.add(namespace);
      const missing = await checkPermissions(
        host,
        verbs.map((verb) => rightTo(verb, window.ref, namespace)),
      );
      if (missing.length > 0) {
        watched.delete(namespace);
        const lacking = missing.flatMap(({ permission }) => permission?.verb ?? []);
        sentences.push(this.#sentence(window, { namespace, count, lacking }));
        continue;
      }
      const about = { component: 'main', resource: window.ref.resource, namespace, copies: count };
      this.#options.log.info(about, 'a former mapping has left copies here, which are removed');
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
