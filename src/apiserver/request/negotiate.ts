// Chooses the representation of an answer from the Accept header: the object, a Table or bare metadata, as JSON or YAML.
// Skips protobuf and CBOR; a client that accepts only those gets a 406 that lists the available types.
import { notAcceptable as noSuchForm } from '../../object/meta/status.ts';
import { notAcceptable, StatusFault } from './status-fault.ts';

export type Representation = 'object' | 'table' | 'metadata';

export interface Negotiated {
  representation: Representation;
  mediaType: 'application/json' | 'application/yaml';
  /** Of Tables and bare metadata: the version of meta.k8s.io that the client asked for. */
  formVersion: 'v1' | 'v1beta1';
  /** For discovery: the version asked for, e.g. `v2`. */
  aggregated: string | undefined;
}

/** The same list as the real server's, although this server reads protobuf bodies and never writes protobuf. */
const offered = [
  'application/json',
  'application/yaml',
  'application/vnd.kubernetes.protobuf',
  'application/json;stream=watch',
  'application/vnd.kubernetes.protobuf;stream=watch',
];

const plain: Negotiated = {
  representation: 'object',
  mediaType: 'application/json',
  formVersion: 'v1',
  aggregated: undefined,
};

/** Clients send few different Accept headers, so parsing each one once is enough. */
const remembered = new Map<string, Negotiated | undefined>();
const rememberedLimit = 256;
/** Twice the longest header that kubectl sends; longer headers are parsed every time and must not fill the memory. */
const rememberedLength = 512;

export function negotiate(accept: string | undefined): Negotiated {
  if (accept === undefined || accept === '' || accept === '*/*' || accept === 'application/json') return plain;
  let answer = remembered.get(accept);
  if (answer === undefined && !remembered.has(accept)) {
    answer = choose(accept);
    if (remembered.size >= rememberedLimit) remembered.clear();
    if (accept.length <= rememberedLength) remembered.set(accept, answer);
  }
  if (answer === undefined) {
    // The real server words an unknown `as=` form of a known media type differently from an unknown media type.
    const types = offered.slice(0, 3);
    throw types.some((type) => accept.includes(type)) ? new StatusFault(noSuchForm(types)) : notAcceptable(offered);
  }
  return answer;
}

function choose(accept: string): Negotiated | undefined {
  const wishes = accept.split(',').map(parseWish);
  wishes.sort((a, b) => b.quality - a.quality);
  for (const wish of wishes) {
    const found = fulfil(wish);
    if (found !== undefined) return found;
  }
  return undefined;
}

interface Wish {
  type: string;
  parameters: Map<string, string>;
  quality: number;
}

function parseWish(text: string): Wish {
  const [type = '', ...rest] = text.split(';').map((part) => part.trim());
  const parameters = new Map<string, string>();
  for (const entry of rest) {
    const equals = entry.indexOf('=');
    if (equals > 0) parameters.set(entry.slice(0, equals).toLowerCase(), entry.slice(equals + 1));
  }
  return { type: type.toLowerCase(), parameters, quality: Number(parameters.get('q') ?? 1) };
}

function fulfil(wish: Wish): Negotiated | undefined {
  const yaml = wish.type === 'application/yaml';
  if (!yaml && wish.type !== 'application/json' && wish.type !== 'application/*' && wish.type !== '*/*')
    return undefined;
  const mediaType = yaml ? 'application/yaml' : 'application/json';
  const as = wish.parameters.get('as');
  const group = wish.parameters.get('g');
  const version = wish.parameters.get('v');
  if (as === undefined) return { ...plain, mediaType };
  if (as === 'APIGroupDiscoveryList' && group === 'apidiscovery.k8s.io' && version === 'v2') {
    return { ...plain, mediaType, aggregated: version };
  }
  if (group !== 'meta.k8s.io' || (version !== 'v1' && version !== 'v1beta1')) return undefined;
  const form = { ...plain, mediaType, formVersion: version } as const;
  if (as === 'Table') return { ...form, representation: 'table' };
  if (as === 'PartialObjectMetadata' || as === 'PartialObjectMetadataList') {
    return { ...form, representation: 'metadata' };
  }
  return undefined;
}
