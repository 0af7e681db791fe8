// What the commands about keys have in common when they read their operands and print their answers.
import { isRecord } from '../../object/text/json.ts';
import { CommandFault, type Context, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';

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

/** The value alone on standard output, or in JSON beside what else is known. */
export function saySecret(
  context: Context,
  options: Options,
  of: { name: string; accessKey: string; says: string; more: object; warnings: readonly string[] },
): void {
  const { name, accessKey, says, more } = of;
  const warnings = of.warnings.filter((warning) => !saidAnyway.test(warning));
  if (accessKey === '')
    throw new CommandFault(exitCodes.environment, 'the server answered without the value of the key', {
      hint: `the key is made all the same: hostward keys rotate ${name} gives it a new value`,
    });
  if (options.choice('output') === 'json') {
    context.stdout.write(`${JSON.stringify({ name, accessKey, ...more, warnings }, undefined, 2)}\n`);
    return;
  }
  sayWarnings(context, warnings);
  context.stderr.write(`${says}\n`);
  context.stdout.write(`${accessKey}\n`);
}
