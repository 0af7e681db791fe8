// What the commands about keys have in common when they read their operands and print their answers.
import { basename, resolve } from 'node:path';
import { isRecord } from '../../../object/text/json.ts';
import { CommandFault, type Context, exitCodes } from '../../line/context.ts';
import type { Options } from '../../line/parse-arguments.ts';
import { requireFolderOf, systemFault } from '../../line/system-fault.ts';

/** The same limit as that of spec.ttl. */
export const longestTTL = { ms: 3_153_600_000_000, says: '100 years' };

/** The name that every command about one key wants. */
export function keyName(options: Options, { isNew = false } = {}): string {
  const name = options.operands[0];
  if (name === undefined)
    throw new CommandFault(exitCodes.usage, 'want the NAME of the access key, found nothing', {
      hint: isNew
        ? 'write it behind the command, like hostward keys create my-key --user alice'
        : 'write it behind the command; hostward keys list shows the names of the keys',
    });
  if (/^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(name) && name.length <= 253) return name;
  throw new CommandFault(
    exitCodes.usage,
    `the name of an access key has small letters, digits, - and ., found "${name}"`,
    { hint: 'begin and end it with a letter or digit, like ci-deploy; text for people goes into --display-name' },
  );
}

export function textAt(value: Record<string, unknown>, ...path: string[]): string {
  let found: unknown = value;
  for (const step of path) found = isRecord(found) ? found[step] : undefined;
  return typeof found === 'string' ? found : '';
}

/** What the API says to clients that print whole objects. */
const saidAnyway = /^spec\.key is shown in this answer alone/;

export function sayWarnings(context: Context, warnings: readonly string[]): void {
  for (const warning of warnings) context.stderr.write(`Warning: ${warning}\n`);
}

const another = (name: string) =>
  `the key is there all the same: hostward keys rotate ${name} gives it a new value, and hostward keys revoke ${name} deletes it`;

/** The value alone on standard output or in the file of --out, or in JSON with what else is known. */
export async function saySecret(
  context: Context,
  options: Options,
  of: { name: string; accessKey: string; says: string; after?: string; more: object; warnings: readonly string[] },
): Promise<void> {
  const { name, accessKey, says, more } = of;
  const warnings = of.warnings.filter((warning) => !saidAnyway.test(warning));
  if (accessKey === '')
    throw new CommandFault(exitCodes.environment, 'the server answered without the value of the key', {
      hint: another(name),
    });
  const file = await writeSecret(context, options, `${accessKey}\n`).catch((cause: unknown) => {
    const why = systemFault(cause)?.message ?? String(cause);
    throw new CommandFault(exitCodes.environment, `the value of the key is lost: ${why}`, {
      hint: another(name),
      cause,
    });
  });
  if (file === undefined) context.afterLostOutput.advice = another(name);
  if (options.choice('output') === 'json') {
    const secret = file === undefined ? { accessKey } : { file };
    context.stdout.write(`${JSON.stringify({ name, ...secret, ...more, warnings }, undefined, 2)}\n`);
    return;
  }
  sayWarnings(context, warnings);
  const place = file === undefined ? '' : `, in ${file}`;
  context.stderr.write(`${says}${place}${of.after === undefined ? '' : `; ${of.after}`}\n`);
  if (file === undefined) context.stdout.write(`${accessKey}\n`);
}

/**
 * Before the server makes a secret that it shows once: a file that cannot be written would lose it. A new key takes no file that holds
 * something, because that may be another key, of which there is no other copy.
 */
export async function tryOut(context: Context, options: Options, { isNew = false } = {}): Promise<void> {
  const path = outPath(context, options);
  if (path === undefined) return;
  const names = await requireFolderOf(context, '--out', options.text('out') ?? '');
  if (names.includes(`${basename(path)}/`))
    throw new CommandFault(exitCodes.input, `--out ${options.text('out')}: wanted a file, found a folder`, {
      hint: 'give a path for a file',
    });
  const trial = `${path}.trial`;
  await context.files.write(trial, '', { mode: secretMode });
  await context.files.remove(trial);
  const holdsNothing = async () => (await context.files.read(path).catch(() => 'unreadable')) === '';
  if (isNew && names.includes(basename(path)) && !(await holdsNothing()))
    throw new CommandFault(
      exitCodes.input,
      `--out ${options.text('out')}: the file is there already, and may hold another key`,
      {
        hint: 'name another file, or remove this one first; nothing was made',
      },
    );
}

/** Returns the file as the user has named it; undefined without --out. */
export async function writeSecret(context: Context, options: Options, text: string): Promise<string | undefined> {
  const path = outPath(context, options);
  if (path === undefined) return undefined;
  await context.files.write(path, text, { mode: secretMode });
  return options.text('out');
}

/** For its owner alone. */
const secretMode = 0o600;

function outPath(context: Context, options: Options): string | undefined {
  const out = options.text('out');
  return out === undefined ? undefined : resolve(context.cwd, out);
}
