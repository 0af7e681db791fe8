// Finds a folder for the kubeconfigs of a demo. In: the folder that the user named. Out: this folder, or a numbered folder
// below it when another demo runs there. A folder is free when its kubeconfig leads to no server, because a killed demo
// leaves its files behind.
import { join, resolve } from 'node:path';
import { openCredentials } from '../../cluster/credentials/credentials.ts';
import { openConnection } from '../../cluster/wire/transport.ts';
import { silentLog } from '../../log.ts';
import type { Side } from '../line/cluster-client.ts';
import { CommandFault, type Context, exitCodes } from '../line/context.ts';

/** More demos than a person watches at a time; a tenth demo is probably a script that starts demos in a loop. */
const demoLimit = 9;
/** An embedded server on this machine answers in milliseconds; a stopped server refuses the connection at once. */
const askTimeoutMs = 2_000;

export async function freeFolder(context: Context, folder: string): Promise<string> {
  for (let number = 1; number <= demoLimit; number++) {
    const candidate = number === 1 ? folder : join(folder, String(number));
    if (!(await isInUse(context, kubeconfigIn(candidate, 'virtual')))) return candidate;
  }
  throw new CommandFault(exitCodes.environment, `cannot use the folder "${folder}": ${demoLimit} demos run in it`, {
    hint: 'End one of them with Ctrl-C, or name another folder with --folder.',
  });
}

export function kubeconfigIn(folder: string, side: Side): string {
  return join(folder, `${side}.kubeconfig`);
}

async function isInUse({ cwd, environment, clock, version }: Context, kubeconfig: string): Promise<boolean> {
  const opened = await openCredentials({ kubeconfig: resolve(cwd, kubeconfig), environment });
  // The file is missing or is not a kubeconfig.
  if (opened.kind === 'faults') return false;
  const { credentials } = opened;
  // Another program at the same port lacks the server's certificate, so the request is not sent.
  const connection = openConnection({ name: 'demo', credentials, clock, log: silentLog, version });
  try {
    const answer = await connection.request({
      method: 'GET',
      path: '/api/v1/namespaces/default',
      timeoutMs: askTimeoutMs,
    });
    return answer.kind === 'ok' || answer.kind === 'notFound';
  } finally {
    await connection.close();
  }
}
