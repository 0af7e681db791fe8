// `hostward keys explain`: whether an access key may send a request, and what says so. The exit code says it to scripts.
import { CommandFault, type Context, type ExitCode, exitCodes } from '../line/context.ts';
import type { Options } from '../line/parse-arguments.ts';
import { apiPrefix } from './client/management-client.ts';
import { keyName, textAt } from './client/print-key.ts';
import { withServer } from './client/reach-server.ts';

export async function explainKey(context: Context, options: Options): Promise<ExitCode> {
  const key = keyName(options);
  const request = options.text('as-request');
  if (request === undefined)
    throw new CommandFault(exitCodes.usage, 'want the request to judge', {
      hint: "give --as-request 'GET /kubernetes/management/api', for example",
    });
  const [, method = '', path = ''] = /^([A-Za-z]+) (\/\S*)$/.exec(request) ?? [];
  if (method === '')
    throw new CommandFault(exitCodes.usage, `--as-request wants a method and a path, found "${request}"`, {
      hint: "write both in one argument, like --as-request 'GET /kubernetes/management/api'",
    });
  const from = options.text('from');
  const query = new URLSearchParams({
    key,
    request: `${method.toUpperCase()} ${path}`,
    ...(from === undefined ? {} : { from }),
    ...(options.has('upgrade') ? { upgrade: 'true' } : {}),
  });
  const { body } = await withServer(context, options, (client) =>
    client.ask({ method: 'GET', path: `${apiPrefix}/hostward/explain?${query}` }),
  );
  const isAllowed = body['allowed'] === true;
  if (options.choice('output') === 'json') context.stdout.write(`${JSON.stringify(body, undefined, 2)}\n`);
  else
    context.stdout.write(
      `${isAllowed ? 'allowed' : 'refused'}: ${reasonOf(body)}${ofWhom(body)}${butMissing(body)}${fromWhere(body, from)}\n`,
    );
  return isAllowed ? exitCodes.fine : exitCodes.input;
}

/** Some requests need no membership and no entry of a scope, such as asking for the version. */
function reasonOf(body: Record<string, unknown>): string {
  return textAt(body, 'reason').replace(/^everybody\b/, 'every key may send this, whoever it acts for');
}

function ofWhom(body: Record<string, unknown>): string {
  const owner = textAt(body, 'owner');
  return owner === '' ? '' : `; the key acts for the ${owner}`;
}

/** What may be done with an object, and whether it is there, are two questions. */
function butMissing(body: Record<string, unknown>): string {
  const missing = textAt(body, 'missing');
  return missing === '' ? '' : `; there is no ${missing}, so that an allowed request would be answered 404`;
}

/** The networks are no entry of the scope, and are easily forgotten. */
function fromWhere({ networks }: Record<string, unknown>, from: string | undefined): string {
  if (!Array.isArray(networks) || from !== undefined) return '';
  return `; the key is valid only from ${networks.join(', ')}, which --from ADDRESS takes into account`;
}
