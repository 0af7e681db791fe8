// Dispatches a request for a resource to the verb that serves it, and sends the outcome.
import type { IncomingMessage } from 'node:http';
import type { KubeObject } from '../object/meta/object.ts';
import { invalid, pathNotFound } from '../object/meta/status.ts';
import { recordNow } from '../store/follow/record-now.ts';
import { visibleRecord } from './caller/visibility.ts';
import type { ServedRequest } from './chain/served-request.ts';
import { faultSubject, groupVersionOf, type Kind, type Subresource, type SubresourceAction } from './kinds/kind.ts';
import type { Call, Kit, VerbOutcome } from './kinds/kit.ts';
import { schemaErrors } from './kinds/schema-errors.ts';
import { timestamp } from './meta/object-meta.ts';
import { negotiate } from './request/negotiate.ts';
import { badRequest, methodNotAllowed, notAcceptable, StatusFault } from './request/status-fault.ts';
import type { Target } from './request/target.ts';
import { createObject } from './verbs/create-object.ts';
import { deleteCollection } from './verbs/delete-collection.ts';
import { deleteObject } from './verbs/delete-object.ts';
import { incomingObject, placeInNamespace } from './verbs/incoming-object.ts';
import { patchObject } from './verbs/patch/patch-object.ts';
import { getObject, listObjects } from './verbs/read-objects.ts';
import { updateObject } from './verbs/update-object.ts';
import { type WatchSettings, WatchStream } from './verbs/watch/watch-stream.ts';
import { deleteOptions, type WriteOptions, writeOptions } from './verbs/write-options.ts';
import { stamped } from './wire/representation.ts';
import { mediaTypeOf, type ParsedBody, parseObjectBody, readBody } from './wire/request-body.ts';
import { sendOutcome, sendStatus } from './wire/respond.ts';
import { fromStoredText, storageKey } from './wire/stored-text.ts';
import { warningHeaders } from './wire/warnings.ts';

export interface ResourceRequest {
  kit: Kit;
  exchange: ServedRequest;
  watchSettings: WatchSettings;
  /** Registers a new watch with the server, which ends open watches when it stops. */
  watching(stream: WatchStream): void;
}

export async function serveResource(resourceRequest: ResourceRequest): Promise<void> {
  const { kit, exchange } = resourceRequest;
  const { target, user, request, response, trail, works, ended } = exchange;
  const kind = kit.catalog.find(target.group, target.version, target.resource);
  if (kind === undefined) throw new StatusFault(pathNotFound());
  const { subresources = {} } = kind;
  const subresource = Object.hasOwn(subresources, target.subresource) ? subresources[target.subresource] : undefined;
  const isUnknown = target.subresource !== '' && subresource === undefined;
  // Nothing is served below a subresource, and a longer path does not mean the subresource itself.
  if (isUnknown || target.isDeeper === true) throw new StatusFault(pathNotFound());
  checkScope(kind, target);
  const negotiated = negotiate(request.headers.accept);
  const fieldManager = target.query.get('fieldManager') || managerOf(request);
  const visibility = kind.visibleTo?.(user);
  const about = { kit, kind, target, user, visibility, negotiated, fieldManager, works, ended };
  const note = (text: string) => {
    trail.entry.note = text;
  };
  const call: Call = { ...about, warnings: [], note, wrote: (written) => trail.wrote(written) };
  try {
    if (!allows(kind, subresource, target)) throw methodNotAllowed();
    await trail.begins();
    if (target.verb === 'watch') return await watch(resourceRequest, call);
    await works?.();
    const outcome = await carryOut(call, request, subresource);
    await trail.ends(outcome.code);
    await works?.();
    await sendOutcome(response, call, outcome);
  } catch (error) {
    // A refusal carries the warnings too: a warning may explain the refusal.
    if (!(error instanceof StatusFault) || response.headersSent) throw error;
    const status = error.statusIn(kit.dialect);
    await trail.ends(status.code ?? 500);
    sendStatus(response, status, warningHeaders(call));
  }
}

/** Only namespaced kinds have a namespace in the URL; only reads may span all namespaces. */
function checkScope(kind: Kind, target: Target): void {
  if (!kind.namespaced) {
    // In the URL of a Namespace object parseTarget() reads the object's name as the namespace too.
    if (target.namespace !== '' && target.namespace !== target.name) throw new StatusFault(pathNotFound());
    target.namespace = '';
    return;
  }
  if (target.namespace !== '') return;
  if (target.name !== '') throw new StatusFault(pathNotFound());
  if (target.verb === 'deletecollection') throw methodNotAllowed();
  if (target.verb === 'create' && kind.answer === undefined) throw methodNotAllowed();
}

function allows(kind: Kind, subresource: Subresource | undefined, target: Target): boolean {
  const { verb, name } = target;
  if (subresource === undefined) {
    // POST to a name and PUT to a list answer 405, not 404: the path exists.
    const wantsName = verb === 'get' || verb === 'update' || verb === 'patch' || verb === 'delete';
    return kind.verbs.includes(verb) && wantsName === (name !== '');
  }
  switch (subresource.mode) {
    case 'part':
      return (subresource.verbs as readonly string[]).includes(verb);
    case 'action':
      return verb === 'create';
    default:
      return subresource satisfies never;
  }
}

async function carryOut(
  call: Call,
  request: IncomingMessage,
  subresource: Subresource | undefined,
): Promise<VerbOutcome> {
  const { target, kind } = call;
  switch (target.verb) {
    case 'get':
      return getObject(call);
    case 'list':
      return listObjects(call);
    case 'create': {
      const options = writeOptions(target.query, 'CreateOptions');
      const submitted = await objectBody(call, request);
      if (subresource?.mode === 'action') return act(call, subresource, submitted, options);
      const object = incomingObject(call, submitted, options.fieldValidation);
      if (kind.answer !== undefined) return answer(call, object, options);
      placeInNamespace(call, object);
      return createObject(call, object, options);
    }
    case 'update': {
      const options = writeOptions(target.query, 'UpdateOptions');
      return updateObject(call, await objectBody(call, request), options);
    }
    case 'patch':
      return patchObject(
        call,
        await bodyOf(call, request),
        mediaTypeOf(request),
        writeOptions(target.query, 'PatchOptions'),
      );
    case 'delete':
      return deleteObject(call, deleteOptions(await optionsBody(call, request), target.query, call.kit.dialect));
    case 'deletecollection':
      return deleteCollection(call, deleteOptions(await optionsBody(call, request), target.query, call.kit.dialect));
    default:
      throw methodNotAllowed();
  }
}

async function bodyOf(call: Call, request: IncomingMessage): Promise<Buffer> {
  const { works, ended } = call;
  const body = await readBody(request, bodyBytesOf(call));
  await works?.();
  const because = ended?.();
  if (because !== undefined) throw new StatusFault(because);
  return body;
}

function bodyBytesOf({ kit, kind, user }: Call): number {
  return kind.bodyBytes?.(user) ?? kit.limits.bodyBytes;
}

async function objectBody(call: Call, request: IncomingMessage): Promise<ParsedBody> {
  const { kit, kind } = call;
  // Only questions come as protobuf where nothing else has to be read that way.
  const protobuf = kit.dialect === 'strict' && kind.answer === undefined ? undefined : kit.catalog.protobuf;
  return parseObjectBody(await bodyOf(call, request), mediaTypeOf(request), {
    kind: kind.kind,
    protobuf,
    limits: { bodyBytes: bodyBytesOf(call) },
  });
}

async function optionsBody(call: Call, request: IncomingMessage): Promise<unknown> {
  const { catalog, limits } = call.kit;
  const body = await bodyOf(call, request);
  if (body.length === 0) return undefined;
  const { protobuf } = catalog;
  const { value } = await parseObjectBody(body, mediaTypeOf(request), { protobuf, limits });
  // The options may be null, as if they were not sent.
  if (value === null) return undefined;
  const { kind = 'DeleteOptions', apiVersion = 'v1' } = value as { kind?: string; apiVersion?: string };
  if (kind !== 'DeleteOptions') throw badRequest(`no kind "${kind}" is registered for version "${apiVersion}"`);
  return value;
}

/** Events are lines of JSON. */
const watchTypes = ['application/json', 'application/json;stream=watch'];

async function watch(resourceRequest: ResourceRequest, call: Call): Promise<void> {
  if (call.negotiated.mediaType === 'application/yaml') throw notAcceptable(watchTypes);
  const { bookmarkIntervalMs = resourceRequest.watchSettings.bookmarkIntervalMs } = call.kind;
  const settings = { ...resourceRequest.watchSettings, bookmarkIntervalMs };
  const { response, trail } = resourceRequest.exchange;
  const stream = new WatchStream(call, response, settings);
  resourceRequest.watching(stream);
  const headers = {
    'cache-control': 'no-cache, private',
    'content-type': 'application/json',
    ...(warningHeaders(call) as Record<string, string[]>),
  };
  let hasBegun = false;
  // The audit log keeps the order of its calls.
  const begun = () => {
    hasBegun = true;
    void trail.ends(200);
    void trail.streamStarts();
  };
  try {
    await stream.run(headers, begun);
  } finally {
    if (hasBegun) await trail.streamEnds({ bytesIn: 0, bytesOut: stream.sentBytes, reason: '' });
  }
}

async function answer(call: Call, object: KubeObject, { dryRun }: WriteOptions): Promise<VerbOutcome> {
  const { kind } = call;
  checkSchema(call, object);
  const reply = await kind.answer?.(object, { ...contextOf(call, dryRun), object: undefined });
  if (reply === undefined) throw methodNotAllowed();
  return {
    kind: 'value',
    code: 201,
    value: stamped(kind, reply),
    ...(kind.holdsSecret === true && { holdsSecret: true }),
  };
}

type Action = Extract<Subresource, { mode: 'action' }>;

/** Serves a subresource that creates something from the object, e.g. a token for a service account. */
async function act(call: Call, action: Action, submitted: ParsedBody, options: WriteOptions): Promise<VerbOutcome> {
  const { kit, kind, target } = call;
  const stored = await recordNow(kit.store, storageKey(kind, target.namespace, target.name));
  const record = visibleRecord(call, stored);
  const object = record === undefined ? undefined : fromStoredText(record.value, kind, record.revision);
  const bodyCall = { ...call, kind: bodyKind(kind, action) };
  const body = incomingObject(bodyCall, submitted, options.fieldValidation);
  checkSchema(bodyCall, body);
  const reply = await action.act(body, { ...contextOf(call, options.dryRun), object });
  const value = { ...reply, kind: action.kind, apiVersion: groupVersionOf(action) };
  return { kind: 'value', code: 201, value, ...(action.holdsSecret === true && { holdsSecret: true }) };
}

/** The body's kind is never stored, so it needs only names and a schema. */
function bodyKind({ verbs, plural, singular, namespaced }: Kind, action: Action): Kind {
  const { kind, group, version, schema } = action;
  const names = { kind, group, version, plural, singular };
  return { ...names, namespaced, verbs, schema, storage: '', strategy: {}, columns: [] };
}

function checkSchema({ kind, kit }: Call, object: KubeObject): void {
  const errors = schemaErrors(object, kit.catalog.schemaOf(kind));
  if (errors.length > 0) throw new StatusFault(invalid(faultSubject(kind), object.metadata.name ?? '', errors));
}

function contextOf(call: Call, dryRun: boolean): Omit<Parameters<SubresourceAction>[1], 'object'> {
  return {
    user: call.user,
    now: timestamp(call.kit.clock.wallTime()),
    dryRun,
    namespace: call.target.namespace,
    name: call.target.name,
    ended: () => call.ended?.(),
    warn: (line) => void call.warnings.push(line),
    note: (text) => call.note?.(text),
    wrote: (written) => call.wrote?.(written),
  };
}

/** Like the real server: without a fieldManager parameter the manager is the User-Agent up to the first slash. */
function managerOf(request: IncomingMessage): string {
  const agent = request.headers['user-agent'] ?? '';
  return agent.slice(0, agent.indexOf('/') < 0 ? agent.length : agent.indexOf('/')).slice(0, 128) || 'unknown';
}
