// Asks a server over TLS for one path, whoever signed its certificate: doctor looks at the certificate itself. In: a URL. Out: the
// status, and when the certificate ends, or why there was no answer. Sends no credential.
import { request } from 'node:https';
import { messageOf } from '../../../cluster/errors.ts';
import { type Ending, peerEnding } from './endings.ts';

export type ServerAnswer =
  | { kind: 'answered'; status: number; ending: Ending | undefined }
  | { kind: 'silent'; reason: string };

const answerWithinMs = 5_000;

export function askServer(url: URL): Promise<ServerAnswer> {
  return new Promise((resolve) => {
    const asking = request(url, { rejectUnauthorized: false, agent: false, timeout: answerWithinMs });
    asking.on('response', (response) => {
      const ending = peerEnding(response.socket);
      response.destroy();
      resolve({ kind: 'answered', status: response.statusCode ?? 0, ending });
    });
    asking.on('timeout', () => asking.destroy(new Error(`no answer within ${answerWithinMs / 1000} seconds`)));
    asking.on('error', (error) => resolve({ kind: 'silent', reason: messageOf(error) }));
    asking.end();
  });
}
