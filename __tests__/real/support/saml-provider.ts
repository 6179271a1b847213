import { execFileSync } from 'node:child_process';
import {
  createHash,
  createPrivateKey,
  createSign,
  generateKeyPairSync,
  randomUUID,
  X509Certificate,
} from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { inflateRawSync } from 'node:zlib';

/** What makes a GoTrue a SAML service provider, with a key made for the run. */
export function samlSettings(): Readonly<Record<string, string>> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const key = privateKey.export({ type: 'pkcs1', format: 'der' });
  return { GOTRUE_SAML_ENABLED: 'true', GOTRUE_SAML_PRIVATE_KEY: key.toString('base64') };
}

export type SamlProvider = ReturnType<typeof createSamlProvider>;

/** A company's identity provider. It serves nothing: the test carries its answer, as the browser's form would. */
export function createSamlProvider() {
  const entityId = `http://127.0.0.1/${randomUUID()}`;
  const made = execFileSync(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-keyout', '-', '-subj', '/CN=idp'],
    { stdio: ['ignore', 'pipe', 'ignore'], encoding: 'utf8' },
  );
  const key = createPrivateKey(made);
  const certificate = new X509Certificate(made.slice(made.indexOf('-----BEGIN CERT'))).raw.toString('base64');
  return {
    /** What the project's owner registers. */
    metadata: `<EntityDescriptor xmlns="urn:oasis:names:tc:SAML:2.0:metadata" entityID="${entityId}">
<IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<KeyDescriptor use="signing"><KeyInfo xmlns="${dsig}"><X509Data><X509Certificate>${certificate}</X509Certificate></X509Data></KeyInfo></KeyDescriptor>
<SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect" Location="${entityId}/sso"/>
</IDPSSODescriptor></EntityDescriptor>`,
    /** Where browsers are sent to sign in. */
    signInUrl: `${entityId}/sso`,
    /** Signs a person in: posts the answer to GoTrue and resolves to where GoTrue sends the browser. */
    async signIn(startUrl: string, email: string): Promise<string> {
      const { searchParams } = new URL(startUrl);
      const request = inflateRawSync(Buffer.from(searchParams.get('SAMLRequest') ?? '', 'base64')).toString();
      const service = readRequest(request);
      const response = respond({ entityId, key, certificate, service, email });
      const answer = await fetch(service.answerUrl, {
        method: 'POST',
        redirect: 'manual',
        body: new URLSearchParams({
          SAMLResponse: Buffer.from(response).toString('base64'),
          RelayState: searchParams.get('RelayState') ?? '',
        }),
      });
      return answer.headers.get('location') ?? `${answer.status} ${await answer.text()}`;
    },
  };
}

const dsig = 'http://www.w3.org/2000/09/xmldsig#';
const canonical = 'http://www.w3.org/2001/10/xml-exc-c14n#';

interface ServiceProvider {
  readonly requestId: string;
  readonly answerUrl: string;
  readonly entityId: string;
}

function readRequest(xml: string): ServiceProvider {
  const [, requestId = ''] = /\sID="([^"]+)"/.exec(xml) ?? [];
  const [, answerUrl = ''] = /AssertionConsumerServiceURL="([^"]+)"/.exec(xml) ?? [];
  const [, entityId = ''] = /Issuer[^>]*>([^<]+)</.exec(xml) ?? [];
  return { requestId, answerUrl, entityId };
}

interface Answer {
  readonly entityId: string;
  readonly key: KeyObject;
  readonly certificate: string;
  readonly service: ServiceProvider;
  readonly email: string;
}

/** A response whose assertion is signed. The XML is written in its canonical form, so that it can be hashed as it stands. */
function respond({ entityId, key, certificate, service, email }: Answer): string {
  const [now, end] = [new Date(), new Date(Date.now() + 3_600_000)].map((date) => date.toISOString());
  const id = `_${randomUUID()}`;
  const head = `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${id}" IssueInstant="${now}" Version="2.0"><saml:Issuer>${entityId}</saml:Issuer>`;
  const rest = `<saml:Subject><saml:NameID Format="urn:oasis:names:tc:SAML:2.0:nameid-format:persistent">${email}</saml:NameID><saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData InResponseTo="${service.requestId}" NotOnOrAfter="${end}" Recipient="${service.answerUrl}"></saml:SubjectConfirmationData></saml:SubjectConfirmation></saml:Subject><saml:Conditions NotBefore="${now}" NotOnOrAfter="${end}"><saml:AudienceRestriction><saml:Audience>${service.entityId}</saml:Audience></saml:AudienceRestriction></saml:Conditions><saml:AuthnStatement AuthnInstant="${now}" SessionIndex="${id}"><saml:AuthnContext><saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement><saml:AttributeStatement><saml:Attribute Name="email"><saml:AttributeValue>${email}</saml:AttributeValue></saml:Attribute></saml:AttributeStatement></saml:Assertion>`;
  const digest = createHash('sha256')
    .update(head + rest)
    .digest('base64');
  const signed = `<ds:SignedInfo xmlns:ds="${dsig}"><ds:CanonicalizationMethod Algorithm="${canonical}"></ds:CanonicalizationMethod><ds:SignatureMethod Algorithm="http://www.w3.org/2001/04/xmldsig-more#rsa-sha256"></ds:SignatureMethod><ds:Reference URI="#${id}"><ds:Transforms><ds:Transform Algorithm="${dsig}enveloped-signature"></ds:Transform><ds:Transform Algorithm="${canonical}"></ds:Transform></ds:Transforms><ds:DigestMethod Algorithm="http://www.w3.org/2001/04/xmlenc#sha256"></ds:DigestMethod><ds:DigestValue>${digest}</ds:DigestValue></ds:Reference></ds:SignedInfo>`;
  const signature = createSign('sha256').update(signed).sign(key, 'base64');
  return `<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" Destination="${service.answerUrl}" ID="_${randomUUID()}" InResponseTo="${service.requestId}" IssueInstant="${now}" Version="2.0"><saml:Issuer xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion">${entityId}</saml:Issuer><samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"></samlp:StatusCode></samlp:Status>${head}<ds:Signature xmlns:ds="${dsig}">${signed}<ds:SignatureValue>${signature}</ds:SignatureValue><ds:KeyInfo><ds:X509Data><ds:X509Certificate>${certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></ds:Signature>${rest}</samlp:Response>`;
}
