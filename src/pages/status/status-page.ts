// The status page: first the verdict, then what needs a person, then everything that `hostward status` tells. In: the daemon's
// status as plain data. Out: HTML.
import { type Html, html } from '../frame/html.ts';

export interface StatusAnswers {
  /** What `hostward status -o json` prints. */
  status(): unknown;
  /** Of the local address, for the command that leads to it. */
  port(): number;
}

export function statusMain(answers: StatusAnswers): Html {
  const { verdict } = answers.status() as { verdict?: { isWell: boolean; sentence: string } };
  return html`<h1>Status</h1>
<p class="${verdict?.isWell === false ? 'verdict bad' : 'verdict good'}">${verdict?.sentence ?? 'no verdict'}</p>`;
}
