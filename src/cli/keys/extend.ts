// `hostward keys extend`: a later end for an access key. The value stays, so that nobody who uses the key has to change anything.
import { isRecord } from '../../object/text/json.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { durationMs } from '../line/duration.ts';
import type { Options } from '../line/parse-arguments.ts';
import { keysPath } from './client/management-client.ts';
import { keyName, longestTTL, sayWarnings, textAt } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';

export async function extendKey(context: Context, options: Options): Promise<ExitCode> {
  const name = keyName(options);
  const text = options.text('ttl');
  if (text === undefined)
    throw new CommandFault(exitCodes.usage, 'want the time for which the key stays valid from now on, found nothing', {
      hint: `give it as in hostward keys extend ${name} --ttl 90d`,
    });
  const seconds = Math.ceil(durationMs('ttl', text, longestTTL) / 1000);
  const path = `${keysPath}/${name}`;
  const { body, warnings } = await withServer(context, options, async (client) => {
    const { body: key } = await client.ask({ method: 'GET', path });
    const nowMs = context.clock.wallTime().getTime();
    const ttl = extendedTTL(key, { name, seconds, nowMs });
    const metadata = { resourceVersion: textAt(key, 'metadata', 'resourceVersion') };
    return client.ask({ method: 'PATCH', path, body: { metadata, spec: { ttl } } });
  });
  const expiresAt = textAt(body, 'status', 'expiresAt');
  if (options.choice('output') === 'json') {
    context.stdout.write(`${JSON.stringify({ name, expiresAt, warnings }, undefined, 2)}\n`);
    return exitCodes.fine;
  }
  sayWarnings(context, warnings);
  context.stdout.write(`extended ${name}: valid until ${expiresAt}\n`);
  return exitCodes.fine;
}

/** A ttl counts from the creation, or from the last use. */
function extendedTTL(
  key: Record<string, unknown>,
  { name, seconds, nowMs }: { name: string; seconds: number; nowMs: number },
): number {
  const refuse = (message: string, hint: string) => new CommandFault(exitCodes.input, message, { hint });
  const endsAt = textAt(key, 'status', 'expiresAt');
  if (endsAt === '') throw refuse(`the access key "${name}" has no end`, 'it stays valid until somebody revokes it');
  const spec = isRecord(key['spec']) ? key['spec'] : {};
  const createdMs = Date.parse(textAt(key, 'metadata', 'creationTimestamp'));
  if (nowMs + seconds * 1000 <= Date.parse(endsAt))
    throw refuse(`the access key "${name}" is valid until ${endsAt}, which is later`, 'give a longer --ttl');
  return spec['ttlAfterLastActivity'] === true ? seconds : Math.ceil((nowMs - createdMs) / 1000) + seconds;
}
