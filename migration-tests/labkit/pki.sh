# shellcheck shell=bash
# One certificate authority per lab and one certificate per host, where libvirt looks for them by default; rdmoved uses
# the same ones. QEMU's own names for them are links, for migration with --tls.

openssl_quiet() { openssl "$@" 2>>"$STATE/openssl.log" || die "openssl failed: $(tail -n1 "$STATE/openssl.log")"; }

make_authority() {
  mkdir -p "$STATE/pki"
  openssl_quiet req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 -subj "/CN=rdmove lab $LAB" \
    -addext keyUsage=critical,keyCertSign,cRLSign -keyout "$STATE/pki/cakey.pem" -out "$STATE/pki/cacert.pem"
}

make_certificate() {
  local host=$1 pki address
  pki=$(host_dir "$host")/etc/pki
  address=$(host_address "$host")
  mkdir -p "$pki/CA" "$pki/libvirt/private" "$pki/qemu"
  cp "$STATE/pki/cacert.pem" "$pki/CA/"
  openssl_quiet req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$host" \
    -keyout "$pki/libvirt/private/serverkey.pem" -out "$STATE/pki/$host.csr"
  openssl_quiet x509 -req -in "$STATE/pki/$host.csr" -CA "$STATE/pki/cacert.pem" -CAkey "$STATE/pki/cakey.pem" -CAcreateserial \
    -days 30 -out "$pki/libvirt/servercert.pem" -extfile - <<EXTENSIONS
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature
extendedKeyUsage = serverAuth, clientAuth
subjectAltName = DNS:$host, IP:$address
EXTENSIONS
  ln -s servercert.pem "$pki/libvirt/clientcert.pem"
  ln -s serverkey.pem "$pki/libvirt/private/clientkey.pem"
  ln -s ../CA/cacert.pem "$pki/qemu/ca-cert.pem"
  local end
  for end in server client; do
    ln -s ../libvirt/servercert.pem "$pki/qemu/$end-cert.pem"
    ln -s ../libvirt/private/serverkey.pem "$pki/qemu/$end-key.pem"
  done
}
