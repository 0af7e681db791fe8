// Ends a pass right after its last write when the host stored exactly what was requested: the same plan, made again, would
// come to nothing. That saves the second look, a quarter of the work of a change. A server that repacks, a webhook that adds,
// an edit that was quicker, new rules: each differs here, and the pass looks again.
import type { Answer } from '../../cluster/answer.ts';
import type { Key, KubeObject } from '../../object/meta/object.ts';
import type { Translation } from '../plan/draft.ts';
import type { HostItem } from '../plan/kind.ts';
import { ownerReference, repairOwners } from '../plan/owner.ts';
import { type Facts, type HostMergePatch, isHostWrite, type RequestStep } from '../plan/step.ts';
import type { Rules, World } from '../world/world.ts';

/** What comes in about a key while its pass is under way; the work queue knows. */
export interface News {
  /** All that has come in until now is seen by the look that follows. */
  looking(key: Key): void;
  /** Whether something has come in since that look. */
  hasNews(key: Key): boolean;
}

type Texts = Readonly<Record<string, string>>;
type Changes = Readonly<Record<string, string | null>>;

export class StoredAsRequested {
  readonly #world: Pick<World, 'rules' | 'hostOf'>;
  readonly #news: News;
  readonly #writing = new Set<Key>();

  constructor(world: Pick<World, 'rules' | 'hostOf'>, news: News) {
    this.#world = world;
    this.#news = news;
  }

  /** Called before every look; returns the rules that the look is made under. */
  beginLook(key: Key): Rules {
    this.#news.looking(key);
    return this.#world.rules;
  }

  /** Whether the host copy of the key is being written: the answer says more about the copy than any event before it. */
  isWriting(key: Key): boolean {
    return this.#writing.has(key);
  }

  async whileWriting(key: Key, { request }: RequestStep, send: () => Promise<Answer>): Promise<Answer> {
    if (!isHostWrite(request)) return send();
    this.#writing.add(key);
    try {
      return await send();
    } finally {
      this.#writing.delete(key);
    }
  }

  /** The host copy after the last write of a pass, or undefined when the pass has to look again. */
  hostAfter(
    { request, isLast }: RequestStep,
    answer: Answer,
    { facts, rules }: { facts: Facts; rules: Rules },
  ): HostItem | undefined {
    if (!isLast || answer.kind !== 'ok' || !isHostWrite(request) || facts.place === undefined) return undefined;
    if (this.#world.rules !== rules || this.#news.hasNews(facts.key)) return undefined;
    const host = this.#world.hostOf(facts.place);
    if (host === undefined || host.resourceVersion !== answer.object.metadata.resourceVersion) return undefined;
    const requested = request.verb === 'create' ? request.object : request.mergePatch;
    return isAsRequested(host, requested, { facts, translation: rules.translation }) ? host : undefined;
  }
}

/** facts: what the decision rested on; requested: the object of a create, or the merge patch over what was there. */
function isAsRequested(
  now: HostItem,
  requested: KubeObject | HostMergePatch,
  { facts, translation }: { facts: Facts; translation: Translation },
): boolean {
  const { host: before, virtual, draft, ignoreOrder } = facts;
  if (virtual === undefined || draft === undefined || now.isDeleting) return false;
  const { kind } = translation;
  if (kind.payloadChange(draft.payload, kind.payloadOf(now), { ignoreOrder }) !== undefined) return false;
  const owner = ownerReference(facts.owner, virtual.hasController === true);
  return (
    (before === undefined || now.uid === before.uid) &&
    isMerged(now.labels, before?.labels, requested.metadata.labels) &&
    isMerged(now.annotations, before?.annotations, requested.metadata.annotations) &&
    repairOwners(now.ownerReferences, owner) === undefined
  );
}

/** Whether the keys now are those before with the changes made, no more and no fewer. */
function isMerged(now: Texts = {}, before: Texts = {}, changes: Changes = {}): boolean {
  let expected = 0;
  for (const key in before) {
    if (Object.hasOwn(changes, key)) continue;
    if (now[key] !== before[key]) return false;
    expected++;
  }
  for (const key in changes) {
    const value = changes[key];
    if (value === null) continue;
    if (now[key] !== value) return false;
    expected++;
  }
  for (const _ in now) expected--;
  return expected === 0;
}
