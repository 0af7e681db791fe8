// The headers between the scripts of the pages and their server. A browser writes every answer of 400 and more as an error on its console,
// where only faults of the pages should be. The scripts therefore say who asks, and a refusal comes to them as 200, with its status here.
// Pure.

export const scriptHeader = 'x-hostward-page';
export const statusHeader = 'x-hostward-status';

interface Reply {
  status: number;
  headers?: Readonly<Record<string, string>>;
}

/** The answer as it is for whoever asks with these headers. */
export function forScript<R extends Reply>({ headers }: { headers: Readonly<Record<string, unknown>> }, reply: R): R {
  if (headers[scriptHeader] === undefined || reply.status < 400) return reply;
  return { ...reply, status: 200, headers: { ...reply.headers, [statusHeader]: String(reply.status) } };
}
