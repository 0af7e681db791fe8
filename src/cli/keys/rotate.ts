// `hostward keys rotate`: a new value for an access key. Nothing else is written to standard output.
import { type Context, type ExitCode, exitCodes } from '../line/context.ts';
import { durationMs } from '../line/duration.ts';
import type { Options } from '../line/parse-arguments.ts';
import { keysPath } from './client/management-client.ts';
import { keyName, saySecret, textAt, tryOut } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';

export async function rotateKey(context: Context, options: Options): Promise<ExitCode> {
  const name = keyName(options);
  const overlapSeconds = Math.ceil(durationMs('overlap', options.text('overlap') ?? '0') / 1000);
  await tryOut(context, options);
  const { body, warnings } = await withServer(context, options, (client) =>
    client.ask({ method: 'POST', path: `${keysPath}/${name}/rotate`, body: { spec: { overlapSeconds } } }),
  );
  const until = textAt(body, 'status', 'oldKeyValidUntil');
  const old = until === '' ? 'is refused from now on' : `stays valid beside it until ${until}`;
  await saySecret(context, options, {
    name,
    accessKey: textAt(body, 'status', 'key'),
    says: `the access key "${name}" has a new value, which is valid from now on and shown this once`,
    after: `the old value ${old}`,
    more: until === '' ? {} : { oldKeyValidUntil: until },
    warnings,
  });
  return exitCodes.fine;
}
