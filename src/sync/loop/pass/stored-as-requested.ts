// Ends a pass right after its last write when the host has stored exactly the request, because a second plan would be empty.
// That saves the second look, a quarter of the work of a change. After any difference the pass looks again: a server that
// reorders, a webhook that adds a key, an edit at the same moment, or new rules.
import type { Answer } from '../../../cluster/answer.ts';
import type { Key, KubeObject } from '../../../object/meta/object.ts';
import type { Translation } from '../../plan/draft.ts';
import type { HostItem } from '../../plan/kind.ts';
import { ownerReference, repairOwners } from '../../plan/owner.ts';
import { type Facts, type HostMergePatch, isHostWrite, type RequestStep } from '../../plan/step.ts';
import type { Rules } from '../../world/sources.ts';
import type { World } from '../../world/world.ts';

/** Events about a key during its pass; the work queue knows them. */
export interface News {
  /** Called before a look: the look will see every event until now. */
  looking(key: Key): void;
  /** Whether an event has come since the last look. */
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

  /** Called before every look; returns the rules in force. */
  beginLook(key: Key): Rules {
    this.#news.looking(key);
    return this.#world.rules;
  }

  /** Whether a write of the host copy is under way; its answer is newer than any event before it. */
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

  /** The host copy after the last write of a pass; undefined when the pass must look again. */
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

/** Compares the stored copy with the request: the object of a create, or the merge patch applied to the copy before. */
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

/** Whether `now` is exactly `before` with `changes` applied. */
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
