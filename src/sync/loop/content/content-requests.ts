// Sends the requests of a plan for content. Only names and kinds of objects reach the log.
import type { Answer } from '../../../cluster/answer.ts';
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { StillWanted } from '../../../cluster/write/writer.ts';
import { type Key, keyOf } from '../../../object/meta/object.ts';
import type { ContentRequest } from '../../kinds/content/content-step.ts';
import { afterReadAgain, freshPass, type PassMemory } from '../../kinds/content/pass-memory.ts';
import { isSamePlace } from '../../plan/ownership.ts';
import type { MustRead } from '../../plan/step.ts';
import type { WriteLog } from '../../world/write-log.ts';
import { type SideWriters, saysNamespaceGone, send, showAnswer } from '../pass/send.ts';
import type { ContentWorld } from './content-world.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

export interface ContentRequestsOptions extends SideWriters {
  world: ContentWorld;
  series: ReferenceMetrics;
  writes: WriteLog;
  /** The owner may be gone, although the window shows it. */
  doubtOwner: () => void;
}

export class ContentRequests {
  readonly #options: ContentRequestsOptions;
  /** What a write with a conflict was about, until it has been read: also the next pass may not write without a look. */
  readonly #unread = new Map<Key, MustRead>();

  constructor(options: ContentRequestsOptions) {
    this.#options = options;
  }

  async ask(request: ContentRequest, isWanted: StillWanted): Promise<Answer> {
    const { side, verb, place } = request;
    const { world, series, writes, doubtOwner } = this.#options;
    const { kind } = world.kind;
    const { virtual, copies, importable } = world.windows;
    const onHost = verb === 'get' ? importable : copies;
    const { answer } = await this.#send(side === 'host' ? onHost : virtual, request, isWanted);
    if (side === 'host' && verb === 'create' && saysNamespaceGone(answer)) doubtOwner();
    if (verb === 'get') return answer;
    series.request(kind, `${side} ${verb}`);
    const fields = { component: 'sync', kind, object: keyOf(place.namespace, place.name), request: `${side} ${verb}` };
    if (answer.kind === 'ok') writes.note(fields, 'content');
    return answer;
  }

  begin(key: Key): Promise<PassMemory> {
    return this.readAgain(key, { ...freshPass(), mustRead: this.#unread.get(key) });
  }

  async readAgain(key: Key, memory: PassMemory): Promise<PassMemory> {
    const { mustRead } = memory;
    if (mustRead === undefined) return memory;
    this.#unread.set(key, mustRead);
    const { world } = this.#options;
    const isOnHost = mustRead.side === 'host';
    const { virtual, copies } = world.windows;
    const read = await this.#send(isOnHost ? copies : virtual, { ...mustRead, verb: 'get' });
    const isCopy = isOnHost && isSamePlace(mustRead.place, world.copyPlaceOf(key));
    const after = afterReadAgain(memory, { ...read, isCopy });
    if (after.mustRead === undefined) this.#unread.delete(key);
    return after;
  }

  async #send(
    window: Pick<Window<Item>, 'get' | 'remember' | 'forget'>,
    request: ContentRequest,
    isWanted: StillWanted = () => true,
  ): Promise<{ answer: Answer; isBelieved: boolean }> {
    const { world } = this.#options;
    const { side, place } = request;
    const key = keyOf(place.namespace, place.name);
    const seen = window.get(key)?.resourceVersion;
    const answer = await send(request, world.kind.resource, this.#options, isWanted);
    const isBelieved = showAnswer(window, { request, answer, place, seen });
    if (side === 'virtual') world.noteVirtual(key);
    return { answer, isBelieved };
  }
}
