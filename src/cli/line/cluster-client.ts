// Plain calls to one API server for commands that look at a cluster or change it by hand: the demo and `release`. Answers
// stay values; what a command cannot go on without becomes a fault of the environment here.
import type { Answer } from '../../cluster/answer.ts';
import type { ApiRequest, Connection } from '../../cluster/wire/connection.ts';
import type { ResourceRef } from '../../cluster/wire/scope.ts';
import type { Preconditions } from '../../cluster/write/writer.ts';
import type { KubeObject } from '../../object/meta/object.ts';
import { CommandFault, exitCodes } from './context.ts';

export interface Place {
  namespace: string;
  name: string;
}

export class ClusterClient {
  #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  get(ref: ResourceRef, place: Place): Promise<Answer> {
    return this.#request({ method: 'GET', path: pathOf(ref, place) });
  }

  create(ref: ResourceRef, object: KubeObject): Promise<Answer> {
    const namespace = object.metadata.namespace ?? '';
    return this.#request({
      method: 'POST',
      path: pathOf(ref, { namespace, name: '' }),
      body: JSON.stringify(object),
      contentType: 'application/json',
    });
  }

  change(ref: ResourceRef, place: Place, mergePatch: object): Promise<Answer> {
    return this.#request({
      method: 'PATCH',
      path: pathOf(ref, place),
      body: JSON.stringify(mergePatch),
      contentType: 'application/merge-patch+json',
    });
  }

  remove(ref: ResourceRef, place: Place, preconditions?: Preconditions): Promise<Answer> {
    const body = preconditions === undefined ? {} : { preconditions };
    return this.#request({
      method: 'DELETE',
      path: pathOf(ref, place),
      body: JSON.stringify(body),
      contentType: 'application/json',
    });
  }

  /** Every object of a namespace, or of the cluster with an empty one, page by page. */
  async list(ref: ResourceRef, namespace: string, query: Record<string, string> = {}): Promise<KubeObject[]> {
    const listed = await this.tryList(ref, namespace, query);
    if (listed.kind === 'listed') return listed.objects;
    throw faultOf(listed.answer, `list ${ref.resource}`);
  }

  async tryList(
    ref: ResourceRef,
    namespace: string,
    query: Record<string, string> = {},
  ): Promise<{ kind: 'listed'; objects: KubeObject[] } | { kind: 'failed'; answer: Exclude<Answer, { kind: 'ok' }> }> {
    const objects: KubeObject[] = [];
    let next = '';
    do {
      const parameters = new URLSearchParams({
        ...query,
        limit: String(pageSize),
        ...(next === '' ? {} : { continue: next }),
      });
      const path = `${pathOf(ref, { namespace, name: '' })}?${parameters}`;
      const answer = await this.#request({ method: 'GET', path, maxBytes: pageBytesLimit });
      if (answer.kind !== 'ok') return { kind: 'failed', answer };
      const page = answer.object;
      objects.push(...((page['items'] as KubeObject[] | null | undefined) ?? []));
      next = (page.metadata as { continue?: string }).continue ?? '';
    } while (next !== '');
    return { kind: 'listed', objects };
  }

  close(): Promise<void> {
    return this.#connection.close();
  }

  #request(request: ApiRequest): Promise<Answer> {
    return this.#connection.request(request);
  }
}

const pageSize = 500;
/** A page of objects of the largest size that an API server keeps. */
const pageBytesLimit = 1024 * 1024 * 1024;

function pathOf(ref: ResourceRef, { namespace, name }: Place): string {
  const scope = namespace === '' ? '' : `/namespaces/${encodeURIComponent(namespace)}`;
  return `/${ref.path}${scope}/${ref.resource}${name === '' ? '' : `/${encodeURIComponent(name)}`}`;
}

/** The object, or a fault of the environment with what the server said. */
export function expectOk(answer: Answer, action: string): KubeObject {
  if (answer.kind === 'ok') return answer.object;
  throw faultOf(answer, action);
}

export function faultOf(answer: Exclude<Answer, { kind: 'ok' }>, action: string): CommandFault {
  const said = 'message' in answer ? answer.message : answer.reason;
  const hint = 'fix' in answer && typeof answer.fix === 'string' && answer.fix !== '' ? { hint: answer.fix } : {};
  return new CommandFault(exitCodes.environment, `cannot ${action}: ${said}`, hint);
}
