// Answers reviews of the caller's own rights in a cluster behind this server. The cluster knows the rights of the impersonated
// user, but no keys and scopes. So this server answers a review that the scopes deny, and sends every other review to the cluster.
// Lists of rules come from the cluster alone, and are marked as incomplete.
import type { IncomingMessage } from 'node:http';
import { ProtobufReader, type ProtobufTypes } from '../../apiserver/kinds/protobuf-body.ts';
import { negotiate } from '../../apiserver/request/negotiate.ts';
import { badRequest } from '../../apiserver/request/status-fault.ts';
import { mediaTypeOf, parseObjectBody, readBody } from '../../apiserver/wire/request-body.ts';
import { isRecord } from '../../object/text/json.ts';
import { allows, type Credential } from '../scope/allows.ts';
import { proxiedRequest } from '../scope/classify.ts';
import type { Directory } from '../scope/directory.ts';
import type { AccessRequest } from '../scope/request.ts';
import type { Reshape } from './forward/forward.ts';
import reviewTypes from './review-protobuf.json' with { type: 'json' };
import type { ProxiedDestination } from './upstreams.ts';

/** kubectl sends reviews as protobuf, and nothing else. */
export const reviewProtobuf = reviewTypes as unknown as ProtobufTypes;

export type ReviewKind = 'access' | 'rules';

/** A review has a few fields, but its selector may be long. */
export const maxReviewBytes = 64 * 1024;
const group = 'authorization.k8s.io';
/** A client opens these with GET or POST; both count as create. */
const sessions: ReadonlySet<string> = new Set(['attach', 'exec', 'portforward']);

export function reviewIn(request: AccessRequest): ReviewKind | undefined {
  if (!request.isResource || request.group !== group || request.verb !== 'create') return undefined;
  if (request.resource === 'selfsubjectaccessreviews') return 'access';
  return request.resource === 'selfsubjectrulesreviews' ? 'rules' : undefined;
}

export type ReviewAnswer =
  /** The cluster must answer; `body` is the body that was read from the request. */
  { kind: 'forward'; body: Buffer } | { kind: 'no'; review: object };

export async function answerReview(
  request: IncomingMessage,
  about: { directory: Directory; credential: Credential; target: ProxiedDestination },
): Promise<ReviewAnswer> {
  const { directory, credential, target } = about;
  const body = await readBody(request, maxReviewBytes);
  const parsed = await parseObjectBody(body, mediaTypeOf(request), {
    kind: 'SelfSubjectAccessReview',
    protobuf: new ProtobufReader(reviewProtobuf),
    limits: { bodyBytes: maxReviewBytes },
  });
  if (!isRecord(parsed.value)) throw badRequest('a review is an object with apiVersion, kind and spec');
  const asked = askedFor(parsed.value['spec'], target);
  // The cluster refuses a malformed review with a better message than this server could.
  if (asked === undefined) return { kind: 'forward', body };
  const decision = allows(directory, credential, asked);
  if (decision.allowed) return { kind: 'forward', body };
  negotiate(request.headers.accept);
  const status = { allowed: false, denied: true, reason: decision.reason };
  const type = { kind: 'SelfSubjectAccessReview', apiVersion: `${group}/v1` };
  return { kind: 'no', review: { ...type, metadata: {}, spec: parsed.value['spec'], status } };
}

function askedFor(spec: unknown, target: ProxiedDestination): AccessRequest | undefined {
  if (!isRecord(spec)) return undefined;
  const { resourceAttributes: resource, nonResourceAttributes: path } = spec;
  if (isRecord(path)) return { isResource: false, target, verb: text(path, 'verb'), path: text(path, 'path') };
  if (!isRecord(resource)) return undefined;
  const subresource = text(resource, 'subresource');
  const verb = sessions.has(subresource) && text(resource, 'verb') === 'get' ? 'create' : text(resource, 'verb');
  const what = { group: text(resource, 'group'), resource: text(resource, 'resource'), subresource };
  return proxiedRequest(target, {
    ...what,
    verb,
    namespace: text(resource, 'namespace'),
    name: text(resource, 'name'),
  });
}

function text(record: Record<string, unknown>, field: string): string {
  const value = record[field];
  return typeof value === 'string' ? value : '';
}

/** Marks the cluster's list as incomplete, because the scopes of the key are not in it. */
export const incompleteRules: Reshape = {
  headers: ['Accept', 'application/json'],
  body(bytes) {
    const review: unknown = JSON.parse(bytes.toString('utf8'));
    if (!isRecord(review) || !isRecord(review['status'])) return bytes;
    const evaluationError = 'the access key may narrow these rules; ask for one request with a SelfSubjectAccessReview';
    return Buffer.from(
      JSON.stringify({ ...review, status: { ...review['status'], incomplete: true, evaluationError } }),
    );
  },
};
