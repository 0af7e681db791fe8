// The answer to a wish for a client certificate where no signer is there.
import { type MakeForm, missing } from './asked.ts';

export const noCertificate: MakeForm = async (_parts, asked) => {
  throw missing(asked, 'no signer of client certificates is configured; leave spec.clientCert out to get a token');
};
