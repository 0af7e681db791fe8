// Sends the requests of a plan for content. Only names and kinds of objects reach the log.
import type { Answer } from '../../../cluster/answer.ts';
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { StillWanted } from '../../../cluster/write/writer.ts';
import { keyOf, splitKey } from '../../../object/meta/object.ts';
import { type HostContent, projectHostContent } from '../../kinds/content/content-kind.ts';
import type { ContentFacts, ContentRequest } from '../../kinds/content/content-step.ts';
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

  /** After a conflict: reads the object, because its window may be late, or may not show it for lack of its label. */
  async readAgain(facts: ContentFacts, side: 'host' | 'virtual'): Promise<HostContent | 'older' | undefined> {
    const { virtual, copies } = this.#options.world.windows;
    const place = side === 'host' ? facts.copyPlace : splitKey(facts.key);
    if (place === undefined) return undefined;
    const { answer, isBelieved } = await this.#send(side === 'host' ? copies : virtual, { side, verb: 'get', place });
    if (!isBelieved) return 'older';
    return side === 'host' && answer.kind === 'ok' ? projectHostContent(answer.object) : undefined;
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
