// The schema of VirtualClusterInstanceKubeConfig.
import type { Schemas } from '../../../apiserver/kinds/kind.ts';
import { objectSchema, textField } from '../../keys/schema/meta-schemas.ts';

export const kubeconfigKindName = 'VirtualClusterInstanceKubeConfig';
export const kubeconfigSchemaName = `management.platform.v1.${kubeconfigKindName}`;

export const kubeconfigSchemas: Schemas = {
  [kubeconfigSchemaName]: objectSchema('A kubeconfig for a virtual cluster. It is made for the answer and not kept.', {
    spec: {
      type: 'object',
      description: 'The wanted contents of the kubeconfig. May be empty.',
      // Zero and absent mean different lives.
      'x-pointers': ['certificateTTL'],
      properties: {
        certificateTTL: {
          type: 'integer',
          format: 'int64',
          description:
            'Lifetime in seconds of the certificate or token, from 600 on. Absent = one day. 0 = no duration is requested: a certificate lives as long as the signer of the cluster gives, a token as long as the calling key and a year at most.',
          minimum: 0,
          maximum: 2_147_483_647,
        },
        server: textField(
          'Address that the kubeconfig has instead of that of the virtual cluster. https, without user, query and fragment.',
        ),
        clientCert: {
          type: 'boolean',
          description: 'The kubeconfig holds a client certificate instead of a token. For project admins only.',
        },
      },
    },
    status: {
      type: 'object',
      description: 'The result. Read-only.',
      properties: { kubeConfig: textField('The text of the kubeconfig. Shown in this answer alone.') },
    },
  }),
};
