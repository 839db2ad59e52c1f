import { shipServerSuite } from './ship-server-suite.ts';

shipServerSuite('fake-gcs-server');
