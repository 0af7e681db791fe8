// `hostward keys create`: makes an access key. Nothing but its value is written to standard output, so that it can go into a file.
import { resolve } from 'node:path';
import type { Schema } from '../../apiserver/kinds/schema.ts';
import { formatFault } from '../../config/fault.ts';
import { runAtOnce } from '../../config/steps.ts';
import { duplicateKey, parseYaml } from '../../config/yaml/parse-yaml.ts';
import { decode } from '../../config/yaml/source-text.ts';
import type { TreeNode } from '../../config/yaml/tree.ts';
import { scopeSchema } from '../../management/keys/schema/scope-schema.ts';
import { nearestKey } from '../../object/meta/nearest-key.ts';
import { isRecord } from '../../object/text/json.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { durationMs } from '../line/duration.ts';
import type { Options } from '../line/parse-arguments.ts';
import { parseDocuments } from '../offline/yaml-text.ts';
import { keysPath } from './client/management-client.ts';
import { keyName, longestTTL, saySecret, textAt, tryOut } from './client/print-key.ts';
import { configuredServer, isDistant, withServer } from './client/reach-server.ts';
import { unknownNames } from './client/scope-names.ts';

export async function createKey(context: Context, options: Options): Promise<ExitCode> {
  const name = keyName(options, { isNew: true });
  const scope = await scopeOf(context, options);
  const unknown = scope === undefined || isDistant(options) ? [] : await unknownHere(context, options, scope);
  const spec = { ...specOf(options), ...(scope === undefined ? {} : { scope }) };
  await tryOut(context, options, { isNew: true });
  const { body, warnings } = await withServer(
    context,
    options,
    (client) =>
      client.ask({ method: 'POST', path: `${keysPath}?fieldValidation=Strict`, body: { metadata: { name }, spec } }),
    { mayMake: true },
  );
  await saySecret(context, options, {
    name,
    accessKey: textAt(body, 'spec', 'key'),
    says: `the access key "${name}" of ${ownerOf(body)} is made; its value is shown this once`,
    more: { owner: ownerOf(body) },
    warnings: [...unknown, ...warnings],
  });
  return exitCodes.fine;
}

function specOf(options: Options): object {
  const ttl = options.text('ttl');
  const displayName = options.text('display-name');
  return {
    ...ownerIn(options),
    ...(displayName === undefined ? {} : { displayName }),
    ...(ttl === undefined ? {} : { ttl: Math.ceil(durationMs('ttl', ttl, longestTTL) / 1000) }),
  };
}

function ownerIn(options: Options): object {
  const user = options.has('admin') ? 'admin' : options.text('user');
  const team = options.text('team');
  const given = ['admin', 'user', 'team'].filter((name) => options.has(name)).map((name) => `--${name}`);
  if (given.length > 1)
    throw new CommandFault(exitCodes.usage, `a key has one owner, found ${given.join(' and ')}`, {
      hint: 'give one of --admin, --user NAME and --team NAME',
    });
  if (given.length === 0 && !isDistant(options))
    throw new CommandFault(exitCodes.usage, 'the owner of the key is missing', {
      hint: 'give --admin, --user NAME or --team NAME',
    });
  return { ...(user === undefined ? {} : { user }), ...(team === undefined ? {} : { team }) };
}

const scopeHint = {
  hint: 'a scope for one project is {"projects": [{"project": "NAME"}]}; hostward docs keys has more',
};

async function scopeOf(context: Context, options: Options): Promise<Record<string, unknown> | undefined> {
  const file = options.text('scope');
  if (file === undefined) return undefined;
  const text = file === '-' ? await context.readStdin() : await context.files.read(resolve(context.cwd, file));
  const read = parseDocuments(text);
  if (read.kind === 'fault')
    throw new CommandFault(
      exitCodes.input,
      syntaxFault(file, text) ?? `${file}:${read.line}:${read.column}: want YAML or JSON: ${read.reason}`,
      scopeHint,
    );
  // In JSON the last of two would count, without a word.
  const twice = syntaxFault(file, text, duplicateKey);
  if (twice !== undefined) throw new CommandFault(exitCodes.input, twice, scopeHint);
  const [scope, ...others] = read.documents;
  if (isRecord(scope) && others.length === 0) {
    const unknown = unknownFields(file, text);
    if (unknown.length === 0) return scope;
    const message = unknown.length === 1 ? (unknown[0] as string) : `the scope has ${unknown.length} unknown fields`;
    const all = unknown.length === 1 ? [] : unknown;
    throw new CommandFault(exitCodes.input, message, { ...scopeHint, details: all, shown: all });
  }
  throw new CommandFault(exitCodes.input, `${file}: want one map, the spec.scope of a key`, scopeHint);
}

/** Only the configuration has all names; a distant server shows a caller those that the caller may see. */
async function unknownHere(context: Context, options: Options, scope: Record<string, unknown>): Promise<string[]> {
  return unknownNames(scope, (await configuredServer(context, options)).settings);
}

function ownerOf(body: Record<string, unknown>): string {
  const team = textAt(body, 'spec', 'team');
  return team === '' ? textAt(body, 'spec', 'user') : `team ${team}`;
}

/**
 * Reads the file of a scope as a configuration is read: says where it is no YAML, and finds the fields that no scope has,
 * which the server would refuse without a line. In: the text of the file. Out: sentences with position and what was meant.
 */
function unknownFields(file: string, text: string): string[] {
  const decoded = decode({ name: file, text });
  if (decoded.kind === 'fault') return [];
  const { root } = runAtOnce(parseYaml(decoded.source));
  return root === undefined ? [] : [...unknownIn(root, scopeSchema, 'scope')];
}

/** In the words of `hostward check`, which say what to write instead; undefined = it is YAML there, or has no fault of this code. */
function syntaxFault(file: string, text: string, code?: string): string | undefined {
  const decoded = decode({ name: file, text });
  if (decoded.kind === 'fault') return formatFault(decoded.fault);
  const parsed = runAtOnce(parseYaml(decoded.source));
  const faults = parsed.kind === 'faults' ? parsed.faults : [];
  const first = faults.find((fault) => code === undefined || fault.code === code);
  return first && formatFault(first);
}

function* unknownIn(node: TreeNode, { properties, items }: Schema, path: string): Generator<string> {
  if (node.kind === 'list' && items !== undefined)
    for (const [at, item] of node.items.entries()) yield* unknownIn(item, items, `${path}[${at}]`);
  if (node.kind !== 'map' || properties === undefined) return;
  for (const [key, { key: span, node: below }] of node.entries) {
    const known = properties[key];
    if (known !== undefined) {
      yield* unknownIn(below, known, `${path}.${key}`);
      continue;
    }
    const { file, line, column } = span.source.positionAt(span.start);
    const near = nearestKey(key, Object.keys(properties));
    const fix = near === undefined ? `the fields are ${Object.keys(properties).join(', ')}` : `did you mean ${near}?`;
    yield `${file}:${line}:${column}: ${path} has no field "${key}"; ${fix}`;
  }
}
