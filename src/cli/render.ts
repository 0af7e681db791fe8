// `hostward render`: the host object that a virtual Endpoints becomes, worked out by the functions that the daemon uses and
// without any cluster. In: a configuration and objects. Out: host objects, and a sentence for each that has none.
import type { Settings } from '../config/settings.ts';
import { type KubeObject, keyOf } from '../object/object.ts';
import { createAddressPolicy } from '../sync/address-policy.ts';
import { draftHost, renderCreate, type Translation } from '../sync/draft.ts';
import { projectService, type ServiceItem } from '../sync/kind.ts';
import { ownerReference } from '../sync/owner.ts';
import { shapeFaults } from './check-shape.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './context.ts';
import { unifiedDiff } from './line-diff.ts';
import { requireSettings } from './load-settings.ts';
import type { Options } from './parse-arguments.ts';
import { type ReadObject, readObjects } from './read-objects.ts';
import { translationOf } from './translation-of.ts';
import { toYaml } from './yaml-text.ts';

export async function render(context: Context, options: Options): Promise<ExitCode> {
  const files = options.texts('file');
  if (files.length === 0) {
    throw new CommandFault(exitCodes.usage, 'wanted objects to render, found no --file', {
      hint: 'name a file, or - for standard input',
    });
  }
  const { settings } = await requireSettings(context, options);
  const read = await readObjects(context, files);
  const rendered = renderAll(read, settings, {
    ownerUid: options.text('owner-uid'),
    bookkeeping: options.has('bookkeeping'),
  });
  for (const sentence of rendered.sentences) context.stderr.write(`${sentence}\n`);
  context.stdout.write(textOf(rendered.pairs, options.choice('output')));
  return exitCodes.fine;
}

export interface RenderedPair {
  virtual: KubeObject;
  host: KubeObject;
}

export interface RenderOptions {
  ownerUid: string | undefined;
  bookkeeping: boolean;
}

export function renderAll(
  read: readonly ReadObject[],
  settings: Settings,
  options: RenderOptions,
): { pairs: RenderedPair[]; sentences: string[] } {
  const objects = read.map(({ object, origin }) => ({ object: withNamespace(object), origin }));
  const services = new Map<string, ServiceItem>();
  for (const { object } of objects) {
    if (object.kind === 'Service') services.set(keyOfObject(object), projectService(object));
  }
  const endpoints = objects.filter(({ object }) => object.kind === 'Endpoints');
  if (endpoints.length === 0)
    throw new CommandFault(exitCodes.input, 'wanted Endpoints to render, found none in the input');
  const faults = endpoints.flatMap(({ object, origin }) =>
    shapeFaults(object).map((fault) => `${origin}: Endpoints "${keyOfObject(object)}": ${fault}`),
  );
  if (faults.length > 0) throw new CommandFault(exitCodes.input, faults.join('\n'));
  const pairs: RenderedPair[] = [];
  const sentences: string[] = [];
  const translate = rendererOf(settings, services, options);
  for (const { object } of endpoints) {
    const result = translate(object);
    if (result.kind === 'object') pairs.push({ virtual: object, host: result.host });
    else sentences.push(`Endpoints "${keyOfObject(object)}" has no copy on the host: ${result.sentence}`);
  }
  return { pairs, sentences };
}

type Rendered = { kind: 'object'; host: KubeObject } | { kind: 'nothing'; sentence: string };

function rendererOf(
  settings: Settings,
  services: ReadonlyMap<string, ServiceItem>,
  options: RenderOptions,
): (object: KubeObject) => Rendered {
  const translation = translationOf(settings);
  const policy = createAddressPolicy(settings.addressPolicy);
  return (object) => {
    const { kind, placement } = translation;
    const key = keyOfObject(object);
    const virtual = kind.projectVirtual(object);
    const place = placement.placeOf(key);
    // Nobody says that the Service is missing, so it is there, and without a selector.
    const service = services.get(key) ?? projectService({ metadata: object.metadata });
    const verdict = kind.judge(key, { virtual, service, isPlaced: place !== undefined });
    if (verdict.kind === 'ineligible') return { kind: 'nothing', sentence: verdict.sentence };
    if (place === undefined) return { kind: 'nothing', sentence: 'its namespace is not mapped to the host' };
    const draft = draftHost(virtual, place, translation);
    const [refused] = policy.refusals(kind.addressesOf(draft.payload));
    if (refused !== undefined) {
      return { kind: 'nothing', sentence: `its address "${refused.address}" is refused: ${refused.rule}` };
    }
    const owner = ownerOf(settings, translation, {
      uid: options.ownerUid,
      hasController: virtual.hasController === true,
    });
    const host = renderCreate(virtual, draft, { translation, owner });
    return { kind: 'object', host: options.bookkeeping ? host : withoutBookkeeping(host) };
  };
}

function ownerOf(
  settings: Settings,
  translation: Translation,
  options: { uid: string | undefined; hasController: boolean },
) {
  const { placement } = translation;
  if (options.uid === undefined || !settings.setOwner || placement.mode !== 'single') return undefined;
  return ownerReference({ kind: 'present', name: placement.virtualCluster, uid: options.uid }, options.hasController);
}

function withNamespace(object: KubeObject): KubeObject {
  if (object.metadata.namespace !== undefined && object.metadata.namespace !== '') return object;
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
}

function keyOfObject(object: KubeObject): string {
  return keyOf(object.metadata.namespace ?? '', object.metadata.name ?? '');
}

function withoutBookkeeping(host: KubeObject): KubeObject {
  const kept = Object.entries(host.metadata.annotations ?? {}).filter(([key]) => !key.startsWith('hostward.dev/'));
  return { ...host, metadata: { ...host.metadata, annotations: Object.fromEntries(kept) } };
}

function textOf(pairs: readonly RenderedPair[], output: string): string {
  if (pairs.length === 0) return '';
  if (output === 'diff') return pairs.map(diffOf).join('');
  const hosts = pairs.map(({ host }) => sorted(host));
  const value = hosts.length === 1 ? hosts[0] : { apiVersion: 'v1', items: hosts, kind: 'List', metadata: {} };
  return output === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : toYaml(value);
}

function diffOf({ virtual, host }: RenderedPair): string {
  // What only a server writes is on neither side of the question.
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, ...metadata } = virtual.metadata;
  return unifiedDiff(
    { name: `virtual ${keyOfObject(virtual)}`, text: toYaml(sorted({ ...virtual, metadata })) },
    { name: `host ${keyOfObject(host)}`, text: toYaml(sorted(host)) },
  );
}

/** As kubectl prints: keys in order, so that two outputs can be compared line by line. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}
