// `hostward render`: prints the host object of a virtual Endpoints or EndpointSlice, or the virtual object that an edit on the host leads to. In:
// a configuration and objects. Out: objects, and a message for each object without a result. The functions are the daemon's
// own; no cluster is needed.
import type { Settings } from '../config/settings/settings.ts';
import { rulesOf } from '../daemon/options/rules-of.ts';
import { type KubeObject, keyOf } from '../object/meta/object.ts';
import { endpointsKind } from '../sync/kinds/endpoints/endpoints-kind.ts';
import { managedByLabel, mirroringController, serviceLabel } from '../sync/kinds/endpointslices/eligibility.ts';
import { annotatedKeyOf } from '../sync/plan/ownership.ts';
import { type RenderResult, renderHost } from '../sync/report/render.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import { type GoodConfiguration, requireSettings } from './line/load-settings.ts';
import type { Options } from './line/parse-arguments.ts';
import { hasPatches, isOfflineKind, offlineKinds } from './offline/offline-kinds.ts';
import type { OfflineRender } from './offline/offline-render.ts';
import { objectDiff, objectsText, objectsValue } from './offline/print-objects.ts';
import { readObjects } from './offline/read-objects.ts';
import { wantedObjects } from './offline/wanted-objects.ts';

export async function render(context: Context, options: Options): Promise<ExitCode> {
  const [files, hostFiles] = [options.texts('file'), options.texts('host-object')];
  if (files.length === 0) {
    throw new CommandFault(exitCodes.usage, 'wanted objects to render, found no --file', {
      hint: 'name a file, or - for standard input',
    });
  }
  if (options.has('back') && hostFiles.length === 0) {
    throw new CommandFault(exitCodes.usage, '--back wants an edited host object, found no --host-object');
  }
  const configuration = await requireSettings(context, options);
  const objects = wantedObjects(await readObjects(context, files), 'Endpoints or EndpointSlices to render');
  const isPlain = !hasPatches(configuration.compiled) && hostFiles.length === 0 && !options.has('explain');
  if (isPlain) return renderPlain(context, options, { configuration, objects });
  // Loads the sandbox code only when the configuration needs it.
  const { renderOffline } = await import('./offline/offline-render.ts');
  const rendered = await renderOffline(context, {
    configuration,
    objects,
    hostObjects: hostFiles.length === 0 ? [] : await hostObjectsOf(context, hostFiles),
    direction: options.has('back') ? 'back' : 'forward',
    ownerUid: options.text('owner-uid'),
    withBookkeeping: options.has('bookkeeping'),
    isExplained: options.has('explain'),
  });
  for (const { message } of rendered.notices) context.stderr.write(`${message}\n`);
  const results = options.has('back') ? [] : rendered.objects.map(({ after }) => after.object);
  noteBeside(context, configuration.settings, { objects, results });
  context.stdout.write(textOf(rendered, options.choice('output')));
  const isWrong = rendered.notices.some((notice) => notice.isFailure || notice.isRefusal === true);
  return isWrong ? exitCodes.input : exitCodes.fine;
}

/** Without patches and host objects, one translation gives the result. */
function renderPlain(
  context: Context,
  options: Options,
  { configuration, objects }: { configuration: GoodConfiguration; objects: readonly KubeObject[] },
): ExitCode {
  const { settings, compiled } = configuration;
  const found: RenderResult['objects'] = [];
  let hasRefusal = false;
  for (const { kind } of offlineKinds(settings, compiled)) {
    const rendered = renderHost(objects, {
      ...rulesOf(settings, undefined, kind),
      ownerUid: options.text('owner-uid'),
      setOwner: settings.setOwner,
      withBookkeeping: options.has('bookkeeping'),
    });
    for (const { key, message, isRefusal } of rendered.notices) {
      context.stderr.write(`${kind.kind} "${key}" has no copy on the host: ${message}\n`);
      hasRefusal ||= isRefusal;
    }
    found.push(...rendered.objects);
  }
  const output = options.choice('output');
  const hosts = found.map(({ host }) => host);
  noteBeside(context, settings, { objects, results: hosts });
  const diffs = found.map(({ key, virtual, host }) => {
    const name = `host ${host.metadata.namespace}/${host.metadata.name}`;
    return objectDiff({ name: `virtual ${key}`, object: virtual }, { name, object: host });
  });
  context.stdout.write(output === 'diff' ? diffs.join('') : objectsText(hosts, output));
  return hasRefusal ? exitCodes.input : exitCodes.fine;
}

/** A kind that is switched off is rendered too, but has no copy on any host. */
function noteBeside(
  context: Context,
  { endpointsEnabled, endpointSlices }: Settings,
  { objects, results }: { objects: readonly KubeObject[]; results: readonly KubeObject[] },
): void {
  if (!endpointsEnabled || !endpointSlices.enabled) return;
  for (const note of besideNotes(objects, results)) context.stderr.write(`${note}\n`);
}

async function hostObjectsOf(context: Context, files: readonly string[]): Promise<KubeObject[]> {
  const read = wantedObjects(await readObjects(context, files), 'Endpoints or EndpointSlices of the host');
  return read.filter(isOfflineKind);
}

function textOf(rendered: OfflineRender, output: string): string {
  const { objects, explained } = rendered;
  const results = objects.map(({ after }) => after.object);
  if (output === 'json' && explained.length > 0) {
    const result = results.length === 0 ? null : objectsValue(results);
    return `${JSON.stringify({ result, explain: explained.flatMap(({ explanation, set }) => explanation.patches(set)) }, undefined, 2)}\n`;
  }
  const text = explained.map(({ explanation, set }) => explanation.text(set)).join('');
  if (output === 'diff') return text + objects.map(({ before, after }) => objectDiff(before, after)).join('');
  return text + objectsText(results, output);
}

/**
 * Names each rendered EndpointSlice that would be on the host together with the rendered Endpoints of its Service: consumers take
 * the addresses of both. In: the objects of the input and the rendered host objects. Out: one sentence for each such slice.
 * Pure.
 */
function besideNotes(input: readonly KubeObject[], rendered: readonly KubeObject[]): string[] {
  const isEndpoints = ({ kind }: KubeObject): boolean => kind === endpointsKind.kind;
  const services = new Map(
    rendered.filter(isEndpoints).map((host) => [placeOf(host, host.metadata.name), annotatedKeyOf(host.metadata)]),
  );
  return rendered.flatMap((host) => {
    const service = isEndpoints(host) ? undefined : services.get(placeOf(host, host.metadata.labels?.[serviceLabel]));
    const slice = annotatedKeyOf(host.metadata);
    if (service === undefined || slice === undefined || isMirrored(input, { kind: host.kind, key: slice })) return [];
    return [`${host.kind} "${slice}" is published beside Endpoints "${service}": consumers take the addresses of both`];
  });
}

function placeOf({ metadata }: KubeObject, name = ''): string {
  return keyOf(metadata.namespace ?? '', name);
}

/** A mirrored slice holds the addresses of the Endpoints that it was made from. */
function isMirrored(input: readonly KubeObject[], of: { kind: string | undefined; key: string }): boolean {
  const virtual = input.find(
    ({ kind, metadata }) => kind === of.kind && keyOf(metadata.namespace ?? 'default', metadata.name ?? '') === of.key,
  );
  return virtual?.metadata.labels?.[managedByLabel] === mirroringController;
}
