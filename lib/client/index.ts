export { createB2bClient } from './b2b-client.ts';
export type { B2bClient, B2bPaths, HostedSignInCall, HostedSignInQuery, OrganizationCall } from './b2b-client.ts';
export { createBackendClient } from './backend-client.ts';
export type {
  BackendClient,
  BackendLogoutCall,
  BackendPaths,
  CodeSentBody,
  EnrollCall,
  EnrollmentBody,
  EnterCodeCall,
  FactorsBody,
  ForgotCall,
  NewPasswordCall,
  OAuthCall,
  PasswordCall,
  ResendCall,
  SendCodeCall,
  SsoCall,
  VerifyCall,
} from './backend-client.ts';
export type { CallOptions, ClientError, ClientErrorCode, ClientOptions, ClientResult } from './send.ts';
export type {
  B2bSessionBody,
  B2bPublicUser,
  B2bUser,
  BackendSessionBody,
  BackendUser,
  EmailConfirmationBody,
  MailSentBody,
  RedirectBody,
} from '../types.ts';
