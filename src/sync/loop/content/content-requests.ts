// Sends the requests of a plan for content, and shows each answer to the window of the object, so that the next look sees it
// before the watch does. Only names and kinds of objects reach the log.
import type { Answer } from '../../../cluster/answer.ts';
import type { Item, Window } from '../../../cluster/window/window.ts';
import type { Writer } from '../../../cluster/write/writer.ts';
import { type Key, keyOf, splitKey } from '../../../object/meta/object.ts';
import { type HostContent, projectHostContent } from '../../kinds/content/content-kind.ts';
import type { ContentFacts, ContentRequest } from '../../kinds/content/content-step.ts';
import type { WriteLog } from '../../world/write-log.ts';
import type { ContentWorld } from './content-world.ts';
import type { ReferenceMetrics } from './reference-metrics.ts';

export interface ContentRequestsOptions {
  world: ContentWorld;
  virtualWriter: Writer;
  hostWriter: Writer;
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

  /** Sends one request and shows its answer to the window of the object. */
  async ask(request: ContentRequest): Promise<Answer> {
    const { kind } = this.#options.world;
    const key = keyOf(request.place.namespace, request.place.name);
    const window = this.#windowOf(request);
    const seen = window.get(key)?.resourceVersion;
    const answer = await this.#send(request);
    const isRead = request.verb === 'get';
    const isGone = answer.kind === 'notFound' || (answer.kind === 'forbidden' && answer.namespaceTerminating);
    if (request.side === 'host' && request.verb === 'create' && isGone) this.#options.doubtOwner();
    if (!isRead) this.#options.series.request(kind.kind, `${request.side} ${request.verb}`);
    if (!isRead && answer.kind === 'ok') {
      const fields = { component: 'sync', kind: kind.kind, object: key, request: `${request.side} ${request.verb}` };
      this.#options.writes.note(fields, 'content');
    }
    // An object with finalizers stays for a while after its delete.
    const isRemoved = request.verb === 'remove' && answer.kind === 'ok' && !answer.object.metadata?.deletionTimestamp;
    if (isRemoved) window.forget(key, request.preconditions.resourceVersion);
    else this.#tell(window, answer, { key, seen });
    if (request.side === 'virtual') this.#options.world.noteVirtual(key);
    return answer;
  }

  /** After a conflict: reads the object, because its window may be late, or may not show it for lack of its label. */
  async readAgain(facts: ContentFacts, side: 'host' | 'virtual'): Promise<HostContent | undefined> {
    const { virtual, copies } = this.#options.world.windows;
    const place = side === 'host' ? facts.copyPlace : splitKey(facts.key);
    if (place === undefined) return undefined;
    const key = keyOf(place.namespace, place.name);
    const window = (side === 'host' ? copies : virtual) as unknown as Window<Item>;
    const seen = window.get(key)?.resourceVersion;
    const writer = side === 'host' ? this.#options.hostWriter : this.#options.virtualWriter;
    const answer = await writer.get(this.#options.world.kind.resource, place);
    this.#tell(window, answer, { key, seen });
    if (side === 'virtual') this.#options.world.noteVirtual(facts.key);
    return side === 'host' && answer.kind === 'ok' ? projectHostContent(answer.object) : undefined;
  }

  async #send(request: ContentRequest): Promise<Answer> {
    const { resource } = this.#options.world.kind;
    const writer = request.side === 'host' ? this.#options.hostWriter : this.#options.virtualWriter;
    switch (request.verb) {
      case 'get':
        return writer.get(resource, request.place);
      case 'create':
        return writer.create(resource, request.object);
      case 'patch':
        return writer.patch(resource, request.place, request.mergePatch);
      case 'remove':
        return writer.remove(resource, request.place, request.preconditions);
      default:
        return request satisfies never;
    }
  }

  #windowOf({ side, verb }: ContentRequest): Window<Item> {
    const { virtual, copies, importable } = this.#options.world.windows;
    const onHost = verb === 'get' ? importable : copies;
    return (side === 'host' ? onHost : virtual) as unknown as Window<Item>;
  }

  /** "Not found" is true of the object as it was seen before the request: a new one may have come since. */
  #tell(window: Window<Item>, answer: Answer, { key, seen }: { key: Key; seen: string | undefined }): void {
    if (answer.kind === 'ok') window.remember(answer.object);
    if (answer.kind === 'notFound' && seen !== undefined) window.forget(key, seen);
  }
}
