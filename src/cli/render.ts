// `hostward render`: the host object that a virtual Endpoints becomes, worked out by the functions that the daemon uses and
// without any cluster. In: a configuration and objects. Out: host objects, and a sentence for each that has none.
import type { KubeObject } from '../object/object.ts';
import { type RenderResult, renderHost } from '../sync/render.ts';
import { shapeFaults } from './check-shape.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './context.ts';
import { unifiedDiff } from './line-diff.ts';
import { requireSettings } from './load-settings.ts';
import type { Options } from './parse-arguments.ts';
import { type ReadObject, readObjects } from './read-objects.ts';
import { rulesOf } from './rules-of.ts';
import { toYaml } from './yaml-text.ts';

export async function render(context: Context, options: Options): Promise<ExitCode> {
  const files = options.texts('file');
  if (files.length === 0) {
    throw new CommandFault(exitCodes.usage, 'wanted objects to render, found no --file', {
      hint: 'name a file, or - for standard input',
    });
  }
  const loaded = await requireSettings(context, options);
  const { settings } = loaded;
  const rules = rulesOf(settings);
  const { objects, notices } = renderHost(checkInput(await readObjects(context, files)), {
    ...rules,
    ownerUid: options.text('owner-uid'),
    setOwner: settings.setOwner,
    withBookkeeping: options.has('bookkeeping'),
  });
  for (const { key, message } of notices) {
    context.stderr.write(`Endpoints "${key}" has no copy on the host: ${message}\n`);
  }
  context.stdout.write(textOf(objects, options.choice('output')));
  return exitCodes.fine;
}

/** What an API server would refuse at the door is refused here, and so is an input with nothing to render. */
function checkInput(read: readonly ReadObject[]): KubeObject[] {
  const endpoints = read.filter(({ object }) => object.kind === 'Endpoints');
  if (endpoints.length === 0) {
    throw new CommandFault(exitCodes.input, 'wanted Endpoints to render, found none in the input');
  }
  const faults = endpoints.flatMap(({ object, origin }) =>
    shapeFaults(object).map((fault) => `${origin}: Endpoints "${object.metadata.name}": ${fault}`),
  );
  if (faults.length > 0) throw new CommandFault(exitCodes.input, faults.join('\n'));
  return read.map(({ object }) => object);
}

type RenderedObject = RenderResult['objects'][number];

function textOf(rendered: readonly RenderedObject[], output: string): string {
  if (rendered.length === 0) return '';
  if (output === 'diff') return rendered.map(diffOf).join('');
  const hosts = rendered.map(({ host }) => sorted(host));
  const value = hosts.length === 1 ? hosts[0] : { apiVersion: 'v1', items: hosts, kind: 'List', metadata: {} };
  return output === 'json' ? `${JSON.stringify(value, undefined, 2)}\n` : toYaml(value);
}

function diffOf({ key, virtual, host }: RenderedObject): string {
  // What only a server writes is on neither side of the question.
  const { uid, resourceVersion, generation, creationTimestamp, managedFields, ...metadata } = virtual.metadata;
  return unifiedDiff(
    { name: `virtual ${key}`, text: toYaml(sorted({ ...virtual, metadata })) },
    { name: `host ${host.metadata.namespace}/${host.metadata.name}`, text: toYaml(sorted(host)) },
  );
}

/** As kubectl prints: keys in order, so that two outputs can be compared line by line. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, member]) => [key, sorted(member)]));
}
